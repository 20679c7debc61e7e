// The API's documents, as far as the pages read them (docs/schema).

export interface SessionRow {
  id: string; started: string; command: string; hostname: string; fingerprint: string; commit: string;
  branch: string; dirty: boolean; complete: boolean; outcomes: Record<string, number>; tags: string[];
  rounds_pending?: number;
}
export interface Sessions { sessions: SessionRow[]; next?: string; }

export interface Case { workload: string; params: string; device: string; mode: string; metric: string; }
export interface CaseRow extends Case { newest: string; label: string; unit: string; values: number[]; }
export interface Cases { total: number; cases: CaseRow[]; }

export interface RunRow extends Case {
  session: string; index: number; started: string; hostname: string; commit: string; branch: string; dirty: boolean;
  fingerprint: string; outcome: string; label: string; unit?: string; better?: string; n?: number; value?: number;
  low?: number; high?: number;
}
export interface Runs { runs: RunRow[]; next?: string; }

export interface Metric {
  id: string; unit: string; better: string; samples: number[]; every?: number; n: number; median: number;
  ci_low?: number; ci_high?: number; min: number; max: number; cv?: number;
}
export interface RunDocument {
  session: string; label: string; params: string;
  run: {
    id: string; index: number; workload: string; device: string; mode: string; outcome: string; reason?: string;
    hint?: string; metrics?: Metric[]; repro: string; started?: string; rounds?: number;
    environment?: {disturbances?: {cause: string; invalidates: boolean}[]}; notes?: unknown; stopped_because?: string;
  };
}

export interface Point {
  session: string; index: number; started: string; commit: string; branch: string; dirty: boolean; n: number;
  value: number; low?: number; high?: number; count?: number;
}
export interface Mark { at: number; session: string; started: string; commit: string; }
export interface Change extends Mark { before: number; after: number; p: number; worse?: boolean; good_commit: string; }
export interface Series {
  label: string; metric: string; unit: string; better: string; total: number; points: Point[]; changes: Change[];
  machines: (Mark&{what: string})[]; machine: string; level?: number;
  band?: {low: number; high: number; from: number};
  drift?: {per_session: number; low: number; high: number; p: number};
}
export interface SeriesDocument { label: string; metric: string; metrics: string[]; series: Series[]; }

export interface ChangeRow extends Case {
  label: string; unit: string; before: number; after: number; p: number; session: string; started: string;
  commit: string; good_commit: string; ago: number; worse?: boolean;
}
export interface Changes { cases: number; seen: number; changes: ChangeRow[]; }

export interface MetricVerdict { id: string; ratio?: number; ci_low?: number; ci_high?: number; verdict: string; }
export interface PairSide { id: string; started: string; commit: string; branch: string; dirty: boolean; hostname: string; }
export interface Pair {
  a: PairSide; b: PairSide; not_compared: string[]; verdict: string; report: {html: string};
  comparison: {effect: number; metrics: MetricVerdict[]};
}

export interface Live {
  time: string;
  machine: {
    host: {name: string; cpus: number; utilization?: number; cpu_utilization?: number[]; load_average?: number;
           memory_bytes?: number; memory_used_bytes?: number};
    gpus: Gpu[];
    processes: {id: number; command?: string; cores?: number; memory_bytes: number; gpus?: {gpu: number}[]}[];
    gpu_problem?: string;
  };
  store?: {up: boolean; problem?: string; hint?: string; sessions: SessionRow[]};
}
export interface Gpu {
  index: number; name: string; utilization?: number; memory_utilization?: number; memory_bytes?: number;
  memory_used_bytes?: number; sm_clock_hz?: number; memory_clock_hz?: number; power_w?: number;
  power_limit_w?: number; temperature_c?: number; pcie_sent?: number; pcie_received?: number; nvlink_sent?: number;
  nvlink_received?: number; slowed_by?: string[];
}
export interface DocumentRow {
  session: string; index: number; kind: string; made: string; title: string; hostname: string; command: string; bytes: number;
}
export interface Documents { documents: DocumentRow[]; next?: string; }
export interface FileRow { name: string; kind: string; bytes: number; modified: string; }
export interface Files { folder: boolean; files: FileRow[]; }
