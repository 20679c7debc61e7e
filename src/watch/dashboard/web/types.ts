// What the pages read: documents by the types of their tables, and one that holds another.
import {Metric, Run} from "./document_types";

export * from "./document_types";

/// Of a metric with more than 5000 samples every k-th.
export type ShownMetric = Metric&{every?: number};
export interface RunDocument {
  session: string; label: string; params: string; run: Omit<Run, "metrics">&{metrics: ShownMetric[]};
}
