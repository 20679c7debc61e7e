#!/bin/sh
# Nsight Compute CSVs (raw and details page) of kernels with known flaws and of some PyTorch kernels, and nvidia-smi dmon
# output while the GPU is busy: record_ncu.sh DESTINATION. Leaves the clocks alone.
set -u
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$1"
cd "$1" || exit
nvcc -O3 -arch=native -DWITH_CUBLAS -o /tmp/flawed "$here/flawed_kernels.cu" -lcublas ||
  nvcc -O3 -arch=native -o /tmp/flawed "$here/flawed_kernels.cu"
timeout 100 ncu --set full --clock-control none -f -o /tmp/flawed /tmp/flawed >ncu.log 2>&1
cat >/tmp/few.py <<'PY'
import torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
x = torch.randn(64, 1024, 768, device="cuda")
index = torch.randint(0, 65536, (1 << 20,), device="cuda")
torch.cuda.synchronize()
torch.cuda.cudart().cudaProfilerStart()
a @ a
torch.softmax(x, -1)
torch.nn.functional.layer_norm(x, (768,))
x.view(65536, 768)[index[: 1 << 16]]
x.transpose(0, 2).contiguous()
torch.nn.functional.gelu(x)
torch.cuda.synchronize()
torch.cuda.cudart().cudaProfilerStop()
PY
timeout 100 ncu --set detailed --profile-from-start off --clock-control none -f -o /tmp/few \
  python3 /tmp/few.py >>ncu.log 2>&1
for name in flawed few; do
  ncu -i /tmp/$name.ncu-rep --csv --page raw >$name.raw.csv
  ncu -i /tmp/$name.ncu-rep --csv --page details --print-units base --print-fp >$name.details.csv
done
cat >/tmp/busy.py <<'PY'
import time
import torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
began = time.time()
while time.time() - began < 14:
    for _ in range(50):
        a @ a
    a.cpu()
PY
python3 /tmp/busy.py &
busy=$!
sleep 5
nvidia-smi dmon -c 5 -o DT -s pucvmet >dmon_busy.txt
nvidia-smi dmon -c 2 -s pucvmet >dmon_busy_plain.txt
nvidia-smi dmon -c 2 --gpm-metrics=1,2,3,5,10,13 >dmon_gpm.txt 2>&1
wait $busy
