// What the pages read: documents by the types of their tables, and two that hold others.
import {MachineState, Metric, Run, SessionRow} from "./document_types";

export * from "./document_types";

/// Of a metric with more than 5000 samples every k-th.
export type ShownMetric = Metric&{every?: number};
export interface RunDocument {
  session: string; label: string; params: string; run: Omit<Run, "metrics">&{metrics: ShownMetric[]};
}

export type LiveSession = SessionRow&{rounds_pending?: number};
export interface Live {
  time: string; machine: MachineState;
  store?: {up: boolean; problem?: string; hint?: string; sessions: LiveSession[]};
}
