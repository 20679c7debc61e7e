"""Training until a quality is reached, with the lines that MLPerf's logging has (mlcommons/logging): `:::MLLOG ` and one JSON
object of namespace, time_ms, event_type, key, value, metadata."""

import inspect
import json
import math
import time

import torch

import wm_data
import wm_tasks as tasks
from wm_training import Refused, clock, no_mark

EVALUATED = 64  # batches of generated data


class Log:
    def __init__(self, path):
        self.file = open(path, "w") if path else None

    def note(self, kind, key, value=None, **metadata):
        if self.file is None:
            return
        caller = inspect.currentframe().f_back.f_back
        where = {"file": caller.f_code.co_filename.split("/")[-1], "lineno": caller.f_lineno}
        line = dict(namespace="", time_ms=int(time.time() * 1000), event_type=kind, key=key, value=value)
        line["metadata"] = dict(where, **metadata)
        self.file.write(":::MLLOG " + json.dumps(line) + "\n")
        self.file.flush()

    def point(self, key, value=None, **metadata):
        self.note("POINT_IN_TIME", key, value, **metadata)

    def begin(self, key, **metadata):
        self.note("INTERVAL_START", key, **metadata)

    def end(self, key, **metadata):
        self.note("INTERVAL_END", key, **metadata)


class Quality:
    """What evaluation adds up, and what it makes of it."""

    def __init__(self, name):
        self.name, self.right, self.count, self.loss, self.batches = name, 0, 0, 0.0, 0
        self.scores, self.labels = [], []

    def add(self, out, target):
        self.loss += float(tasks.loss_of(self.name, out, target))
        self.batches += 1
        if self.name == "dlrm":
            self.scores.append(out.float().cpu())
            self.labels.append(target.cpu())
            self.right += int(((out > 0) == (target > 0.5)).sum())
        else:
            self.right += int((out.argmax(tasks.axis_of_classes(out, target)) == target).sum())
        self.count += target.numel()

    def metric(self, name):
        if name == "accuracy":
            return self.right / self.count
        if name == "loss":
            return self.loss / self.batches
        return auc(torch.cat(self.scores), torch.cat(self.labels))


def auc(scores, labels):
    """The odds that a click's score is above that of none, ties by half: by ranks (Mann and Whitney 1947)."""
    values, order = scores.double().sort()
    ranks = torch.arange(1, len(scores) + 1, dtype=torch.float64)
    same, counts = torch.unique_consecutive(values, return_inverse=True, return_counts=True)[1:]
    means = torch.zeros(len(counts), dtype=torch.float64).scatter_add_(0, same, ranks) / counts
    positive = labels[order] > 0.5
    n = int(positive.sum())
    if n in (0, len(scores)):
        raise Refused("data", "the data to evaluate has one kind of label alone")
    return float((means[same][positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))


WARMUP = 0.05  # of all steps


def standard_optimizer(training):
    """SGD with Nesterov's momentum for convolutions (Goyal et al. 2017: 0.1 for a batch of 256), else AdamW as it is."""
    if training.name != "resnet50":
        return training.optimizer
    rate = 0.1 * training.batch * training.accumulate / 256
    return torch.optim.SGD(
        training.model.parameters(), lr=rate, momentum=0.9, weight_decay=1e-4, nesterov=True
    )


def rate_at(step, steps):
    """Of the base rate: up linearly, then down by a cosine to 0 (Loshchilov and Hutter 2017)."""
    warm = max(1, round(WARMUP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * min(1, (step - warm) / max(1, steps - warm))))


def better(metric, value, target):
    return value <= target if metric == "loss" else value >= target


def train_until(training, ask):
    """Epochs until the metric is there, or `most_epochs`."""
    metric, target = ask["metric"], float(ask["target"])
    if metric == "auc" and training.name != "dlrm":
        raise Refused("unsupported", "auc is of dlrm", "accuracy or loss")
    standard = ask.get("recipe") == "standard"
    if standard:
        training.optimizer = standard_optimizer(training)
    log = Log(ask.get("log"))
    log.point("cache_clear", True)
    log.begin("init_start")
    log.point("submission_benchmark", training.name)
    log.point("submission_org", "none")
    log.point("submission_division", "open")
    log.point("submission_platform", "%s" % training.device)
    log.point("seed", training.seed)
    log.point("global_batch_size", training.batch * training.accumulate * training.ranks.world)
    log.point("gradient_accumulation_steps", training.accumulate)
    log.point("opt_name", type(training.optimizer).__name__.lower())
    log.point("opt_base_learning_rate", training.optimizer.param_groups[0]["lr"])
    if ask.get("data"):
        train, evaluate = wm_data.open_data(training.name, training.config, ask["data"], standard)
    else:
        train = tasks.Generated(training.name, training.config, training.seed)
        evaluate = torch.utils.data.Subset(
            tasks.Generated(training.name, training.config, training.seed + 999331), range(EVALUATED * training.batch)
        )
        train = torch.utils.data.Subset(train, range(4 * EVALUATED * training.batch))
    loader = lambda data, shuffle: torch.utils.data.DataLoader(
        data,
        batch_size=training.batch,
        shuffle=shuffle,
        drop_last=shuffle,
        num_workers=max(0, int(ask.get("workers", -1))),
        generator=torch.Generator().manual_seed(training.seed),
    )
    batches, held_out = loader(train, True), loader(evaluate, False)
    if len(batches) == 0:
        raise Refused("data", "the data has %d samples, fewer than a batch of %d" % (len(train), training.batch))
    log.point("train_samples", len(train))
    log.point("eval_samples", len(evaluate))
    log.end("init_stop")
    steps = int(ask["most_epochs"]) * (len(batches) // training.accumulate)
    schedule = None
    if standard:
        schedule = torch.optim.lr_scheduler.LambdaLR(training.optimizer, lambda step: rate_at(step, steps))
    training.meet()
    begin = clock()
    log.begin("run_start")
    samples, value, reached, epoch = 0, math.nan, False, 0
    for epoch in range(1, int(ask["most_epochs"]) + 1):
        log.begin("epoch_start", epoch_num=epoch)
        training.source = iter(batches)
        for _ in range(len(batches) // training.accumulate):
            training.step(no_mark)
            if schedule is not None:
                schedule.step()
            samples += training.batch * training.accumulate
        log.end("epoch_stop", epoch_num=epoch)
        log.begin("eval_start", epoch_num=epoch)
        value = evaluated(training, held_out).metric(metric)
        log.point("eval_accuracy", value, epoch_num=epoch)
        log.end("eval_stop", epoch_num=epoch)
        reached = better(metric, value, target)
        if reached or not math.isfinite(value):
            break
    training.meet()
    end = clock()
    log.end("run_stop", status="success" if reached else "aborted")
    return {"reached": reached, "value": value, "epochs": epoch, "samples": samples, "begin_ns": begin, "end_ns": end}


def evaluated(training, batches):
    quality = Quality(training.name)
    training.model.eval()
    with torch.no_grad():
        for inputs, target in batches:
            inputs, target = training.on_device(inputs), training.on_device([target])[0]
            quality.add(training.forward(inputs).float(), target)
    training.model.train()
    return quality
