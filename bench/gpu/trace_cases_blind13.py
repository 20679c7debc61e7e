"""A further set of cases for record_traces.py --cases trace_cases_blind13: networks of timm, transformers and
trace_nets_blind13.py, each with one plain flaw and its usual remedy; written by somebody who did not know the
analysis. Needs timm, pandas and PIL besides."""
import torch
import torch.nn.functional as F

import trace_nets_blind13 as nets
from trace_cases import (GPU, Prefetched, adamw, amp, captured, channels_last, classify, huggingface_loss, images,
                         inference, loaded, nhwc, resident, tf32, tokens, training)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_nets_blind9 import picture_network
from trace_nets_blind12 import HourGlass

WORKERS = 12
FOUND, case = annotated_case_list()


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("seresnext50_enlarges_pictures_in_process", "seresnext50", "data_loading", "num_workers 0 -> 12", 64,
      loader=True)
def _(kind):
    """A network of large pictures, fine-tuned on small ones."""
    batches, close = loaded(nets.EnlargedPictures(), 64, 0 if kind == "broken" else WORKERS)
    return training(picture_network("seresnext50_32x4d", num_classes=10), classify, nhwc(batches)), close


@case("houses_read_by_iloc", "tabular_resnet", "data_loading", "a batch's rows taken at once from one tensor", 128)
def _(kind):
    houses = nets.Houses()
    with torch.device(GPU):
        model = nets.TabularResNet()
    if kind == "broken":
        batches, _ = loaded(houses, 128, 0)
    else:
        table = houses.tensors()

        def batches():
            rows = torch.randint(0, len(table[0]), (128,))
            return tuple(part[rows].pin_memory().to(GPU, non_blocking=True) for part in table)
    return training(model, lambda m, x, price: F.mse_loss(m(x).float(), price), batches)


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("camembert_words_pooled_on_cpu", "camembert", "host_transfer", "the mean on the GPU, then one small copy", 96)
def _(kind):
    """An embedding for each of 96 texts."""
    import transformers as hf
    config = hf.CamembertConfig(vocab_size=16384, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                                intermediate_size=3072, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1,
                                bos_token_id=0, eos_token_id=2)
    model = transformers_network("CamembertModel", config, train=False).bfloat16()
    (ids,) = resident(torch.randint(5, 16000, (96, 192)))()

    def run():
        words = model(input_ids=ids).last_hidden_state.float()
        return words.cpu().mean(1).numpy() if kind == "broken" else words.mean(1).cpu().numpy()
    return inference(run)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("wide_resnet28_counts_hits_picture_by_picture", "wide_resnet28", "cpu_gpu_sync",
      "hits of each class added up on the GPU", 256)
def _(kind):
    """The accuracy of each class, as a first lesson on CIFAR-10 counts it."""
    with torch.device(GPU):
        model = nets.WideResNet().bfloat16().eval().to(memory_format=torch.channels_last)
        x, labels = torch.randn(256, 3, 32, 32).bfloat16(), torch.randint(0, 10, (256,))
        hits, seen, one = torch.zeros(10), torch.zeros(10), torch.ones(256)
    x = channels_last(x)
    classes = ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    correct, total = ({name: 0 for name in classes} for _ in range(2))

    def run():
        predictions = model(x).argmax(1)
        if kind == "fixed":
            hits.index_add_(0, labels, (labels == predictions).float())
            seen.index_add_(0, labels, one)
            return
        for label, prediction in zip(labels, predictions):
            if label == prediction:
                correct[classes[label]] += 1
            total[classes[label]] += 1
    return inference(run)


@case("deit_small_adds_up_gradient_norms", "deit_small", "cpu_gpu_sync", "get_total_norm of all, not read", 48)
def _(kind):
    model, seen = picture_network("deit_small_patch16_224", False), []

    def tail(m, loss):
        if kind == "fixed":
            seen[:] = [torch.nn.utils.get_total_norm([p.grad for p in m.parameters()])]
            return
        total = 0.0
        for p in m.parameters():
            total += p.grad.detach().norm(2).item() ** 2
        seen[:] = [total ** 0.5]
    return training(model, classify, resident(*images(48)), tail=tail)


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("fbnet_infer_batch16", "fbnet", "launch_overhead", "CUDA graph", 16)
def _(kind):
    model = picture_network("fbnetc_100").bfloat16().eval()
    x = channels_last(torch.randn(16, 3, 224, 224, device=GPU, dtype=torch.bfloat16))
    step = inference(lambda: model(x))
    return captured(step) if kind == "fixed" else step


# --- precision -------------------------------------------------------------------------------------------------------

@case("cspresnet50_fp32", "cspresnet50", "precision", "bf16 autocast", 64)
def _(kind):
    x, y = images(64)
    return training(picture_network("cspresnet50"), classify, resident(channels_last(x), y), mixed=kind == "fixed",
                    before=tf32(False))


@case("gemma_fine_tuned_in_tf32", "gemma", "precision", "bf16 autocast", 8)
def _(kind):
    import transformers as hf
    config = hf.GemmaConfig(vocab_size=16384, hidden_size=1024, intermediate_size=8192, num_hidden_layers=6,
                            num_attention_heads=8, num_key_value_heads=8, head_dim=128, max_position_embeddings=512,
                            use_cache=False, attn_implementation="sdpa")
    model = transformers_network("GemmaForCausalLM", config)
    return training(model, huggingface_loss, resident(*tokens(8, 512)), mixed=kind == "fixed", before=tf32(True))


# --- attention -------------------------------------------------------------------------------------------------------

@case("set_transformer_scores_written_out", "set_transformer", "attention", "scaled_dot_product_attention", 8)
def _(kind):
    """2048 points a cloud."""
    with torch.device(GPU):
        model = nets.SetTransformer(nets.attended if kind == "broken" else nets.attended_by_library)
    return training(model, classify, resident(torch.randn(8, 2048, 3), torch.randint(0, 40, (8,))))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("nafnet_norms_unfused", "nafnet", "memory_bandwidth", "torch.compile fuses the norm", 8)
def _(kind):
    normal = torch.compile(nets.normal, dynamic=False) if kind == "fixed" else nets.normal
    with torch.device(GPU):
        model = nets.NafNet(normal).bfloat16().eval().to(memory_format=torch.channels_last)
        noisy = torch.rand(8, 3, 512, 512).bfloat16()
    noisy = channels_last(noisy)
    return inference(lambda: model(noisy))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("resmlp_momentum_by_hand", "resmlp", "optimizer", "torch.optim.SGD(momentum=0.9, fused=True)", 32)
def _(kind):
    model = picture_network("resmlp_12_224", False)
    optimizer = nets.MomentumByHand(model) if kind == "broken" else torch.optim.SGD(
        model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
    return training(model, classify, resident(*images(32)), optimizer)


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("pix2pix_empties_cache_after_each_network", "pix2pix", "memory_allocation", "no empty_cache() in the loop", 12)
def _(kind):
    with torch.device(GPU):
        painter = HourGlass(2, 3, 3, (64, 128, 256, 512)).to(memory_format=torch.channels_last)
        judge = nets.PatchJudge().to(memory_format=torch.channels_last)
        x, y = channels_last(torch.rand(12, 3, 256, 256)), channels_last(torch.rand(12, 3, 256, 256))
    painting, judging = adamw(painter), adamw(judge)

    def real(scores, wanted):
        return F.binary_cross_entropy_with_logits(scores, torch.full_like(scores, wanted))

    def step():
        with amp():
            found = painter(x).tanh()
            loss = real(judge(x, y), 1.0) + real(judge(x, found.detach()), 0.0)
        judging.zero_grad(set_to_none=True)
        loss.backward()
        judging.step()
        if kind == "broken":
            torch.cuda.empty_cache()
        with amp():
            loss = real(judge(x, found), 1.0) + 100 * F.l1_loss(found.float(), y)
        painting.zero_grad(set_to_none=True)
        loss.backward()
        painting.step()
        del found, loss
        if kind == "broken":
            torch.cuda.empty_cache()
    return step


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("vit_b32_train_batch48", "vit_b32", "gpu_underused", "batch 48 -> 256", 48, fixed_batch=256)
def _(kind):
    data = images(48 if kind == "broken" else 256)
    return training(picture_network("vit_base_patch32_224", False), classify, resident(*data))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("siglip_so400m_trained_healthy", "siglip_so400m", "none", "", 64)
def _(kind):
    model = picture_network("vit_so400m_patch14_siglip_224", False, num_classes=1000, depth=10).bfloat16()
    x, y = images(64)
    return training(model, classify, Prefetched(x.bfloat16(), y), mixed=False)


@case("llama_70b_width_prefill_healthy", "llama_70b", "none", "", 6)
def _(kind):
    import transformers as hf
    config = hf.LlamaConfig(vocab_size=16384, hidden_size=8192, intermediate_size=28672, num_hidden_layers=2,
                            num_attention_heads=64, num_key_value_heads=8, max_position_embeddings=1024,
                            use_cache=False, attn_implementation="sdpa")
    model = transformers_network("LlamaModel", config, train=False).bfloat16()
    batches = Prefetched(*tokens(6, 1024))
    return inference(lambda: model(input_ids=batches()[0]).last_hidden_state)


@case("falcon_width_trained_healthy", "falcon", "none", "", 6)
def _(kind):
    import transformers as hf
    config = hf.FalconConfig(vocab_size=16384, hidden_size=4096, num_hidden_layers=3, num_attention_heads=32,
                             multi_query=False, parallel_attn=True, bias=False, alibi=False, use_cache=False,
                             new_decoder_architecture=False, max_position_embeddings=1024, attn_implementation="sdpa")
    model = transformers_network("FalconForCausalLM", config).bfloat16()
    return training(model, huggingface_loss, Prefetched(*tokens(6, 1024)), mixed=False)


CASES = mixed_by_cause(FOUND)
