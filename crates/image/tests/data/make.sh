#!/bin/sh
# Makes the fixtures of this folder anew: sh make.sh TOOLKIT/bin (CUDA 13.5).
set -eu
bin=$1
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/nvcc" --compress-mode=size -gencode 'arch=compute_80,code=[sm_80,compute_80]' \
    -fatbin -o zstd.fatbin kernels.cu
"$bin/nvcc" --compress-mode=speed -Xfatbin -compress-all \
    -gencode 'arch=compute_90a,code=[sm_90a,compute_90a]' -fatbin -o lz4.fatbin kernels.cu
for sm in 75 80; do
    "$bin/nvcc" -arch=sm_$sm -cubin -o "$work/k$sm.cubin" kernels.cu
done
"$bin/nvcc" -arch=compute_80 -ptx -o "$work/k80.ptx" kernels.cu
"$bin/fatbinary" -64 -concat -compress-all -create group.fatbin \
    -image3 "kind=elf,sm=75,file=$work/k75.cubin" \
    -image3 "kind=elf,sm=80,file=$work/k80.cubin" \
    -image3 "kind=ptx,sm=80,file=$work/k80.ptx"
