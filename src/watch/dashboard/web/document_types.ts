// Made from the tables of the documents by tests/watch/web_types_test.cpp: nobody edits it.

export interface SessionRow {
  id: string; started: string; command: string; hostname: string; fingerprint: string; commit: string; branch: string;
  dirty: boolean; complete: boolean; outcomes: Record<string, number>; tags: string[];
}

export interface SessionsPage {
  sessions: SessionRow[]; next?: string;
}

export interface RunRow {
  session: string; index: number; started: string; hostname: string; commit: string; branch: string; dirty: boolean;
  fingerprint: string; workload: string; params: string; device: string; mode: string; metric: string; outcome: string;
  label: string; unit?: string; better?: string; n?: number; value?: number; low?: number; high?: number;
}

export interface RunsPage {
  runs: RunRow[]; next?: string;
}

export interface DocumentRow {
  session: string; index: number; kind: string; made: string; title: string; hostname: string; command: string;
  bytes: number;
}

export interface DocumentsPage {
  documents: DocumentRow[]; next?: string;
}

export interface CaseRow {
  workload: string; params: string; device: string; mode: string; metric: string; newest: string; label: string;
  unit: string; values: number[];
}

export interface CasesPage {
  total: number; cases: CaseRow[];
}

export interface FileRow {
  name: string; kind: string; bytes: number; modified: string;
}

export interface FilesPage {
  folder: boolean; files: FileRow[];
}

export interface Series {
  label: string; metric: string; unit: string; better: string; total: number; points: Point[]; changes: Change[];
  machines: MachineMark[]; machine: string; level?: number; band?: Band; drift?: Drift;
}

export interface Point {
  session: string; index: number; started: string; commit: string; branch: string; dirty: boolean; n: number;
  value: number; low?: number; high?: number; count?: number;
}

export interface Change {
  at: number; session: string; started: string; commit: string; before: number; after: number; p: number;
  good_commit: string; worse?: boolean;
}

export interface MachineMark {
  at: number; session: string; started: string; commit: string; what: string;
}

export interface Band {
  low: number; high: number; from: number;
}

export interface Drift {
  per_session: number; low: number; high: number; p: number;
}

export interface SeriesPage {
  label: string; metric: string; metrics: string[]; series: Series[];
}

export interface ChangeRow {
  label: string; workload: string; params: string; device: string; mode: string; metric: string; unit: string;
  before: number; after: number; p: number; good_commit: string; worse?: boolean; session: string; started: string;
  commit: string; ago: number;
}

export interface ChangesPage {
  cases: number; seen: number; changes: ChangeRow[];
}

export interface ReportPage {
  title?: string; subtitle?: string; html?: string; problem?: string;
}

export interface MachineState {
  time_s: number; host: Host; gpus: Gpu[]; gpu_problem?: string; processes: Process[];
}

export interface Host {
  name: string; cpus: number; utilization?: number; cpu_utilization?: number[]; load_average?: number;
  memory_bytes?: number; memory_used_bytes?: number;
}

export interface Gpu {
  index: number; name: string; utilization?: number; memory_utilization?: number; memory_bytes?: number;
  memory_used_bytes?: number; sm_clock_hz?: number; memory_clock_hz?: number; power_w?: number; power_limit_w?: number;
  temperature_c?: number; pcie_sent?: number; pcie_received?: number; nvlink_sent?: number; nvlink_received?: number;
  problem?: string; slowed_by: string[];
}

export interface Process {
  id: number; command?: string; cores?: number; memory_bytes?: number; threads?: number; gpus: GpuUse[];
}

export interface GpuUse {
  gpu: number; memory_bytes?: number;
}

export interface StoreState {
  up: boolean; problem?: string; hint?: string; sessions: LiveSession[];
}

export interface LiveSession {
  id: string; started: string; command: string; hostname: string; fingerprint: string; commit: string; branch: string;
  dirty: boolean; complete: boolean; outcomes: Record<string, number>; tags: string[]; rounds_pending: number;
}

export interface LivePage {
  time: string; machine: MachineState; store?: StoreState;
}

export interface Metric {
  id: string; unit: string; better: string; samples: number[]; round_sizes: number[]; n: number; median?: number;
  ci_low?: number; ci_high?: number; ci_confidence?: number; min?: number; max?: number; mean?: number; stdev?: number;
  mad?: number; cv?: number; autocorrelation?: number; percentiles?: Percentile[]; outliers?: number[];
}

export interface Percentile {
  p: number; value?: number; ci_low?: number; ci_high?: number; ci_confidence?: number; reason?: string;
}

export interface Cost {
  flops?: number; bytes?: number; footprint_bytes?: number; flop_type?: string; rate?: string; link?: string;
}

export interface Peak {
  bound: string; percent?: number; share?: number; flops_per_second?: number; bytes_per_second?: number;
  intensity?: number; unreliable?: string; ceiling?: string; reason?: string;
}

export interface Error {
  value: number; tolerance: number; norm?: string; reference?: string;
}

export interface Environment {
  readings: Reading[]; disturbances: Disturbance[];
}

export interface Reading {
  id: string; unit: string; before?: number; after?: number;
}

export interface Disturbance {
  id: string; cause: string; invalidates: boolean; device?: string;
}

export interface Warmup {
  launches: number; seconds: number; settled: boolean; reason?: string; first_s?: number;
}

export interface Timing {
  method: string; resolution_s: number; overhead_s: number; launches_per_sample: number; sets: number;
}

export interface NamedText {
  name: string; text: string;
}

export interface Run {
  id: string; index: number; workload: string; params: Record<string, unknown>; device: string; mode: string;
  outcome: string; reason?: string; fault?: string; out_of_memory?: string; hint?: string; metrics: Metric[];
  cost?: Cost; peak?: Peak; error?: Error; environment: Environment; warmup?: Warmup; timing?: Timing;
  stopped_because?: string; converged: boolean; rounds: number; seed: string; notes?: NamedText[]; started?: string;
  repro?: string;
}

export interface PairSide {
  id: string; started: string; commit: string; branch: string; dirty: boolean; hostname: string;
}

export interface Comparison {
  id: string; started: string; command: string; a: string; b: string; session_a?: string; session_b?: string;
  verdict: string; effect: number; alpha: number; paired: boolean; sequential: boolean; interleave: string;
  seed: string; rounds: number; stopped_because?: string; metrics: PairPageMetric[]; machine_a?: string;
  machine_b?: string; price_a?: number; price_b?: number; monthly_cost?: number; monthly?: MonthlySaving;
  accuracy?: Accuracy[]; disturbances: Disturbance[]; calibration?: Calibration[]; samples: Sample[]; machine: Machine;
  build: Build;
}

export interface PairPageMetric {
  id: string; unit: string; better: string; verdict: string; reason?: string; more_rounds?: number;
  decidable_effect?: number; auxiliary?: string; n_a: number; n_b: number; median_a?: number; median_b?: number;
  ratio?: number; ci_low?: number; ci_high?: number; ci_confidence?: number; speedup?: number; saved_bytes?: number;
  p?: number; adjusted_p?: number; tests: Test[]; a: number[]; b: number[]; per_price?: number;
}

export interface Test {
  name: string; p: number; estimate?: number; ci_low?: number; ci_high?: number; ci_confidence?: number;
}

export interface MonthlySaving {
  before: number; after: number; saved: number; saved_low: number; saved_high: number;
}

export interface Accuracy {
  name: string; kind: string; outcome: string; reason?: string; n: number; difference: number; unit?: string;
  better?: string; margin?: number; relative?: boolean; median_a?: number; median_b?: number; ci_low?: number;
  ci_high?: number; ci_confidence?: number;
}

export interface Calibration {
  id: string; spread: number; false_positive_rate: number; detectable: number; rounds_for_effect: number;
  autocorrelation?: number;
}

export interface Sample {
  variant: string; round: number; started?: string; values: number[]; disturbance?: number;
}

export interface Machine {
  hostname: string; os?: string; kernel?: string; cpu?: string; virtualization?: string; memory_bytes?: number;
  devices: Device[]; software?: NamedText[]; fingerprint?: string;
}

export interface Device {
  id: string; backend: string; name: string; uuid?: string; memory_bytes?: number; last_level_cache_bytes?: number;
  caches: Cache[]; compute_units?: number; max_clock_hz?: number; architecture?: string; details?: NamedText[];
}

export interface Cache {
  level: number; kind: string; bytes: number; shared_by: number;
}

export interface Build {
  version: string; git_sha?: string; git_dirty: boolean; compiler?: string; type?: string; features: string[];
}

export interface ShownReport {
  title: string; subtitle: string; html: string;
}

export interface PairPage {
  a: PairSide; b: PairSide; not_compared: string[]; verdict: string; comparison: Comparison; report: ShownReport;
}
