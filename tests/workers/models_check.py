"""What must hold of the models' Python, with real PyTorch on the CPU: models_check.py SOURCES CHECK."""

import copy
import math
import multiprocessing
import os
import sys
import tempfile

sources, check = sys.argv[1], sys.argv[2]
sys.path[:0] = [os.path.join(sources, "src", "workers", "models"), os.path.join(sources, "src", "workers", "hook")]
import torch

torch.set_num_threads(1)
import wm_decoding
import wm_networks as networks
import wm_shapes
import wm_tasks as tasks
import wm_training

SIZES = {
    "gpt2": dict(layers=3, width=32, heads=4, vocab=64, positions=64, seq=16),
    "llama": dict(layers=3, width=32, heads=4, kv_heads=2, ffn=96, vocab=64, seq=16, tied=1),
    "vit": dict(layers=3, width=32, heads=4, size=16, patch=8, classes=10),
    "dlrm": dict(width=8, top=32, rows=[50, 20, 10]),
    "dlrm_dcn": dict(width=8, top=32, rows=[50, 20, 10], hots=[1, 3, 2], cross=2, rank=4),
    "unet3d": dict(width=2, levels=2, size=8, classes=3),
    "resnet50": dict(width=8, blocks1=1, blocks2=1, blocks3=3, blocks4=1, size=32, classes=10),
    "bert": dict(layers=3, width=32, heads=4, vocab=64, positions=64, seq=16, predictions=4),
    "bert_squad": dict(layers=3, width=32, heads=4, vocab=64, positions=64, seq=16, predictions=0),
}


def ask(model, **changes):
    plain = dict(model=model.split("_")[0], config=SIZES[model], batch=8, precision="f32", device="cpu", seed=3, rate=1e-3)
    plain["pass"] = "train"
    plain.update(changes)
    return plain


def gradient(training):
    """Of the first step, all parameters in one."""
    kept = []
    training.optimizer.step = lambda: kept.append(torch.cat([p.grad.flatten().clone() for p in training.model.parameters()]))
    training.step(wm_training.no_mark)
    return kept[0].double()


def near(a, b, most=1e-5):
    apart = float((a - b).norm() / b.norm())
    assert apart <= most, apart


def checkpointing():
    for model in ("gpt2", "llama", "vit", "bert"):
        plain = gradient(wm_training.Training(ask(model)))
        forward = {cls: cls.forward for cls in (networks.Block, networks.LlamaBlock)}
        training = wm_training.Training(ask(model, knobs={"checkpoint.blocks": "yes"}))
        assert [k["in_force"] for k in training.knob_states()] == [True]
        near(gradient(training), plain)
        for cls, old in forward.items():
            cls.forward = old


def accumulation():
    """Four batches of two give the gradient of one of eight that has the same samples."""
    for model in ("gpt2", "vit", "dlrm"):
        few = wm_training.Training(ask(model, batch=2, accumulate=4))
        one = wm_training.Training(ask(model, batch=8))
        batches = few.pool[:4]
        whole = [torch.cat(parts) for parts in zip(*(inputs for inputs, _ in batches))]
        one.source = iter([(whole, torch.cat([target for _, target in batches]))])
        near(gradient(few), gradient(one), 2e-4)


def one_rank(rank, world, model, folder, queue):
    torch.set_num_threads(1)
    training = wm_training.Training(ask(model, batch=4, rank=rank, world=world, meeting=os.path.join(folder, "meeting")))
    found = gradient(training)
    training.ranks.barrier()
    apart = training.reference()
    if rank == 0:
        queue.put((found.tolist(), apart))
    training.ranks.barrier()


def ranks():
    """Two ranks with four samples each give the gradient of one with all eight."""
    for model in ("gpt2", "dlrm"):
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        with tempfile.TemporaryDirectory() as folder:
            all_ = [context.Process(target=one_rank, args=(r, 2, model, folder, queue)) for r in range(2)]
            for process in all_:
                process.start()
            found, apart = queue.get(timeout=240)
            for process in all_:
                process.join(60)
                assert process.exitcode == 0
        parts = [tasks.pool(model, SIZES[model], 4, 3 + r)[0] for r in range(2)]
        one = wm_training.Training(ask(model))
        whole = [torch.cat(tensors) for tensors in zip(*(inputs for inputs, _ in parts))]
        one.source = iter([(whole, torch.cat([target for _, target in parts]))])
        near(torch.tensor(found, dtype=torch.float64), gradient(one))
        assert apart < 1e-4, apart


def decoding():
    for model in ("gpt2", "llama"):
        good = wm_decoding.Decoding(ask(model, new_tokens=8, **{"pass": "decode"}))
        assert good.reference() < 1e-5 and good.differing == 0
        expected = good.flops
        body = networks.forward_flops(good.model, lambda: good.model(good.prompts[0]))
        assert 0 < expected < 2 * body, (expected, body)
        broken = wm_decoding.Decoding(ask(model, new_tokens=8, **{"pass": "decode"}))
        put = networks.Cache.put
        networks.Cache.put = lambda cache, layer, k, v: put(cache, layer, k, v * (1 if cache.length == 0 else 0.5))
        try:
            assert broken.reference() > 3e-2
        finally:
            networks.Cache.put = put


def shapes():
    """The traced products are those that hooks count, forward, and about twice as many backward."""
    for model in SIZES:
        for narrow in ("f32", "bf16"):
            forward = wm_training.Training(ask(model, precision=narrow, **{"pass": "forward"}))
            train = wm_training.Training(ask(model, precision=narrow))
            once, step = flops_of(wm_shapes.shapes_of(forward)), flops_of(wm_shapes.shapes_of(train))
            assert once == forward.flops, (model, once, forward.flops)
            assert 2.6 * once < step <= 3 * once, (model, step / once)


    span()


def span():
    """An answer's begin and end: the mean of two cross-entropies over the positions, which can be learned."""
    training = wm_training.Training(ask("bert_squad", rate=1e-2))
    [ids], target = training.pool[0]
    out = training.model(ids)
    assert out.shape == (8, 16, 2)
    each = [torch.nn.functional.cross_entropy(out[:, :, i].contiguous(), target[:, i]) for i in (0, 1)]
    loss = float(tasks.loss_of("bert", out, target).detach())
    assert abs(loss - float(sum(each).detach()) / 2) < 1e-5 and abs(loss - math.log(16)) < 0.3, loss
    assert tasks.chance_level_loss("bert", SIZES["bert_squad"]) == math.log(16)
    assert ids.gather(1, target).tolist() == [[62, 63]] * 8 and tasks.axis_of_classes(out, target) == 1
    losses = [float(training.step(wm_training.no_mark)) for _ in range(30)]
    assert losses[-1] < 0.7 * losses[0], losses


def flops_of(items):
    total = 0
    for i in items:
        if i["kind"] == "gemm":
            total += 2 * i["m"] * i["n"] * i["k"] * i["count"]
        elif i["kind"] == "conv2d":
            side = (i["h"] + 2 * i["pad"] - i["r"]) // i["stride"] + 1
            total += 2 * i["n"] * i["c"] * i["k"] * i["r"] ** 2 * side * side * i["count"]
        elif i["kind"] == "attention":
            each = 4 * i["batch"] * i["heads"] * i["seq"] ** 2 * i["dim"]
            total += each * i["count"] * (2 if i["pass"] == "backward" else 1)
        else:
            assert i["kind"] == "memory" and i["bytes"] > 0
    return total


def knobs():
    """Each is set in torch as it is named, or the worker says why not: what a torch lacks, and what needs a GPU."""
    has_attention = hasattr(torch.nn.functional, "scaled_dot_product_attention")
    precisions()
    said = state("gpt2", {"optimizer.implementation": "foreach"})
    assert said.optimizer.param_groups[0]["foreach"] is True and force(said) == [True]
    assert force(state("gpt2", {"optimizer.implementation": "fused"})) == [False]  # parameters are not on a GPU
    last = state("resnet50", {"channels_last": "yes"})
    assert force(last) == [True] and last.model.blocks[0].conv2.weight.is_contiguous(memory_format=torch.channels_last)
    assert force(state("dlrm", {"channels_last": "yes"})) == [False]
    for backend in ("math", "flash", "efficient", "cudnn"):
        told = state("gpt2", {"attention.backend": backend}).knob_states()[0]
        cuda = torch.backends.cuda
        if backend == "math" and has_attention:
            assert told["in_force"] is True and cuda.math_sdp_enabled(), told
            assert not cuda.flash_sdp_enabled() and not cuda.mem_efficient_sdp_enabled()
        elif not torch.cuda.is_available():
            assert told["in_force"] is False and ("is of GPUs" in told["said"] or "has no" in told["said"]), told
    for name in ("flash", "mem_efficient", "cudnn", "math"):
        getattr(torch.backends.cuda, "enable_%s_sdp" % name, lambda on: None)(True)
    compiling()
    out_of_memory()


def out_of_memory():
    """However a library says it, it is a result that a sweep ends with, and not an error of the data."""
    import warpmark_worker

    def kind_of(problem):
        class Raises:
            def run(self, question):
                raise problem

        return warpmark_worker.answer(Raises(), {"ask": "run"})["refused"]

    for said in (
        "std::bad_alloc",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "could not create a memory object",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes",
    ):
        assert kind_of(RuntimeError(said)) == "environment", said
    assert kind_of(MemoryError()) == "environment"
    assert kind_of(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) == "data"


def state(model, wanted):
    return wm_training.Training(ask(model, knobs=wanted))


def force(training):
    return [told["in_force"] for told in training.knob_states()]


def precisions():
    """TF32 is a switch of torch that f32 sets back; bf16 is what layers compute in; a scaler is of GPUs."""
    for precision, wanted, tf32 in (("tf32", "high", True), ("f32", "highest", False)):
        wm_training.Training(ask("vit", precision=precision))
        assert torch.get_float32_matmul_precision() == wanted and torch.backends.cudnn.allow_tf32 is tf32
    seen = []
    training = wm_training.Training(ask("vit", precision="bf16"))
    training.model.head.register_forward_hook(lambda layer, args, out: seen.append(out.dtype))
    training.step(wm_training.no_mark)
    assert seen == [torch.bfloat16] and training.scaler is None, seen
    assert all(p.dtype == torch.float32 for p in training.model.parameters())
    try:
        wm_training.Training(ask("vit", precision="fp16"))
        assert False
    except wm_training.Refused as problem:
        assert problem.kind == "unsupported" and "GPU" in problem.what and "bf16" in problem.hint


def compiling():
    """The mode reaches torch.compile, which is played: what it makes of a mode is torch's business."""
    real, modes = getattr(torch, "compile", None), []

    def played(function, **arguments):
        modes.append(arguments.get("mode", "default"))
        return function

    torch.compile = played
    try:
        for mode in ("default", "reduce-overhead", "max-autotune"):
            del modes[:]
            training = state("gpt2", {"compile": mode})
            told = training.knob_states()[0]
            if hasattr(torch.nn.Module, "compile"):  # of the network and of its loss; no graph came of it, and that is told
                assert modes == [mode, mode] and told["said"] == "nothing was compiled", (modes, told)
            else:
                assert modes == [] and "cannot compile" in told["said"], (modes, told)
            assert told["in_force"] is False
            float(training.step(wm_training.no_mark))
    finally:
        if real is None:
            del torch.compile
        else:
            torch.compile = real


def loader():
    """A DataLoader with processes gives batches of the same task, and the phase of waiting is told."""
    training = wm_training.Training(ask("gpt2", workers=2))
    losses = [float(training.step(wm_training.no_mark)) for _ in range(6)]
    assert losses[-1] < losses[0], losses


def quality():
    """A network learns a generated task until it is good enough, and its log has what MLPerf asks for."""
    import json

    import wm_quality

    training = wm_training.Training(ask("vit", batch=16, rate=3e-3))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.txt")
        said = wm_quality.train_until(
            training, dict(metric="accuracy", target=0.9, most_epochs=4, log=path)
        )
        assert said["reached"] and said["value"] >= 0.9 and said["end_ns"] > said["begin_ns"], said
        lines = open(path).read().splitlines()
    assert all(line.startswith(":::MLLOG {") for line in lines)
    events = [json.loads(line[len(":::MLLOG ") :]) for line in lines]
    assert [list(e) for e in events] == [["namespace", "time_ms", "event_type", "key", "value", "metadata"]] * len(events)
    keys = [e["key"] for e in events]
    for key in ("submission_benchmark", "init_stop", "run_start", "epoch_stop", "eval_accuracy", "run_stop"):
        assert key in keys, key
    assert keys.index("init_stop") < keys.index("run_start") < keys.index("run_stop")
    assert events[-1]["metadata"]["status"] == "success"


def data():
    """Files that somebody gives; broken ones are refused with their place."""
    import wm_data
    import wm_quality
    from wm_training import Refused

    with tempfile.TemporaryDirectory() as folder:
        words = [(3 * i) % 16 for i in range(4000)]
        for part in ("train.bin", "val.bin"):
            with open(os.path.join(folder, part), "wb") as file:
                file.write(b"".join(w.to_bytes(2, "little") for w in words))
        train, _ = wm_data.open_data("gpt2", SIZES["gpt2"], folder)
        inputs, target = train[1]
        assert inputs[0].tolist() == words[16:32] and target.tolist() == words[17:33]
        training = wm_training.Training(ask("gpt2", rate=1e-2))
        said = wm_quality.train_until(training, dict(metric="loss", target=1.0, most_epochs=6, data=folder))
        assert said["reached"], said
        for part in ("train.txt", "val.txt"):
            with open(os.path.join(folder, part), "w") as file:
                for i in range(200):
                    numbers = [str(i % 2 * 5)] + [""] * 12
                    file.write("\t".join([str(i % 2)] + numbers + ["%x" % (i * 7), "", "ff"]) + "\n")
        training = wm_training.Training(ask("dlrm", rate=1e-2))
        said = wm_quality.train_until(training, dict(metric="auc", target=0.95, most_epochs=9, data=folder))
        assert said["reached"], said
        with open(os.path.join(folder, "val.txt"), "a") as file:
            file.write("1\tx\n")
        try:
            wm_data.open_data("dlrm", SIZES["dlrm"], folder)
            assert False
        except Refused as problem:
            assert "line 201" in problem.what, problem.what
        pictures(wm_data, wm_quality, os.path.join(folder, "pictures"))
    for model in ("gpt2", "dlrm", "vit"):
        try:
            wm_data.open_data(model, SIZES[model], "/no/such/folder")
            assert False
        except Refused as problem:
            assert problem.kind == "environment" and "/no/such/folder" in problem.what
    assert wm_quality.auc(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0.0, 0.0, 1.0, 1.0])) == 0.75
    assert wm_quality.auc(torch.tensor([1.0, 1.0]), torch.tensor([0.0, 1.0])) == 0.5


def serving():
    """The HTTP interface: answers, streams that end, and bad requests that say why; what it says is what the network says."""
    import concurrent.futures
    import json
    import urllib.error
    import urllib.request

    import wm_server

    decoding = wm_decoding.Decoding(ask("gpt2", batch=1, new_tokens=4, **{"pass": "decode"}))
    port = wm_server.serve(decoding, "127.0.0.1", 0)

    def post(path, body):
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), json.dumps(body).encode())
        return urllib.request.urlopen(request, timeout=60).read().decode()

    prompt = [3, 1, 4]
    said = json.loads(post("/v1/completions", {"prompt": prompt, "max_tokens": 4}))
    words = decoding.generate(torch.tensor([prompt]))[0].tolist()
    assert said["choices"][0]["text"] == "".join(" %d" % w for w in words), (said, words)
    assert said["usage"] == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    chat = {"messages": [{"role": "user", "content": "3 1 4"}], "max_tokens": 4, "stream": True}
    events = post("/v1/chat/completions", dict(chat, stream_options={"include_usage": True})).split("\n\n")
    assert events[-2] == "data: [DONE]" and events[-1] == "", events
    parts = [json.loads(e[6:]) for e in events[:-2]]
    assert "".join(p["choices"][0]["delta"]["content"] for p in parts[:-1]) == said["choices"][0]["text"]
    assert parts[-1]["usage"]["completion_tokens"] == 4
    def answer_of(prompt):
        return json.loads(post("/v1/completions", {"prompt": prompt, "max_tokens": 12}))["choices"][0]["text"]

    prompts = [[i, 2 * i + 1] for i in range(6)]
    alone = [answer_of(p) for p in prompts]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert list(pool.map(answer_of, prompts)) == alone
    go_on = decoding.model.go_on

    def fails_on_fives(ids, cache):
        if int(ids[0, 0]) == 5:
            raise RuntimeError("planted")
        return go_on(ids, cache)

    decoding.model.go_on = fails_on_fives
    for streamed in (False, True):
        try:
            told = post("/v1/completions", {"prompt": [5], "stream": streamed})
            assert streamed and "planted" in told, told
        except urllib.error.HTTPError as problem:
            assert not streamed and problem.code == 500 and "planted" in json.loads(problem.read())["error"]["message"]
        assert answer_of(prompts[1]) == alone[1]
    decoding.model.go_on = go_on
    for path, body in (("/v1/completions", {"prompt": "1", "max_tokens": 999}), ("/v1/chat/completions", {}), ("/x", {})):
        try:
            post(path, body)
            assert False, path
        except urllib.error.HTTPError as problem:
            assert problem.code in (400, 404) and json.loads(problem.read())["error"]["message"]
    try:
        wm_server.serve(decoding, "127.0.0.1", port)
        assert False
    except wm_training.Refused as problem:
        assert problem.kind == "environment" and str(port) in problem.what
    os._exit(0)  # the model's thread may be in torch's C++, from which Python cannot take it when it ends


def pictures(wm_data, wm_quality, folder):
    """Two classes, bright and dark, as portable pixmaps of another shape than the network's."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        return print("without Pillow no pictures are read")
    for part in ("train", "val"):
        for name, level in (("bright", 230), ("dark", 20)):
            os.makedirs(os.path.join(folder, part, name))
            for i in range(8):
                with open(os.path.join(folder, part, name, "%d.ppm" % i), "wb") as file:
                    file.write(b"P6 40 24 255\n" + bytes([level] * (40 * 24 * 3)))
    train, _ = wm_data.open_data("vit", SIZES["vit"], folder)
    assert len(train) == 16
    [image], label = train[0]
    assert image.shape == (3, 16, 16) and int(label) == 0
    assert abs(float(image[0, 8, 8]) - (230 / 255 - 0.485) / 0.229) < 1e-3
    assert int(train[15][1]) == 1
    training = wm_training.Training(ask("vit", batch=4, rate=3e-3))
    said = wm_quality.train_until(training, dict(metric="accuracy", target=1.0, most_epochs=12, data=folder))
    assert said["reached"] and said["samples"] == 16 * said["epochs"], said
    augmented, plain = wm_data.open_data("vit", SIZES["vit"], folder, True)
    assert augmented.augment and not plain.augment
    assert augmented[0][0][0].shape == (3, 16, 16)
    boxes = {wm_data.random_box(400, 300) for _ in range(50)}
    assert len(boxes) > 40 and all(0 <= l < r <= 400 and 0 <= t < b <= 300 for l, t, r, b in boxes), boxes
    training = wm_training.Training(ask("vit", batch=4, rate=3e-3))
    said = wm_quality.train_until(
        training, dict(metric="accuracy", target=1.0, most_epochs=12, data=folder, recipe="standard")
    )
    assert said["reached"], said


def recipe():
    """The rate goes up, then down to nothing; convolutions are trained by SGD."""
    import wm_quality

    rates = [wm_quality.rate_at(step, 100) for step in range(101)]
    assert rates[0] == 0.2 and rates[4] == rates[5] == 1.0 and rates[100] < 1e-12, rates
    assert all(a >= b for a, b in zip(rates[5:], rates[6:]))
    training = wm_training.Training(ask("resnet50", batch=8))
    optimizer = wm_quality.standard_optimizer(training)
    assert type(optimizer) is torch.optim.SGD and optimizer.defaults["nesterov"]
    assert abs(optimizer.defaults["lr"] - 0.1 * 8 / 256) < 1e-12


if __name__ == "__main__":
    globals()[check]()
