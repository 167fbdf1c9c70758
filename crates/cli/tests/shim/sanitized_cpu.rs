//! The backend cpu under sanitizers: cushim's threads, which run kernels and copies, cause no reports of races.

use std::process::{Command, Stdio};

use crate::headers::toolkit;
use crate::lab::Lab;

const SOURCE: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void add(float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += b[i];
}
int main() {
    const int n = 50000;
    float *a, *b, *h = new float[n];
    for (int i = 0; i < n; i++) h[i] = i % 7;
    cudaMalloc(&a, n * 4);
    cudaMalloc(&b, n * 4);
    cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(b, h, n * 4, cudaMemcpyHostToDevice);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaDeviceSynchronize();
    for (int k = 0; k < 10; k++) add<<<(n + 255) / 256, 256, 0, k % 2 ? stream : 0>>>(a, b, n);
    cudaDeviceSynchronize();
    cudaMemcpy(h, a, n * 4, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += h[i];
    printf("%.0f %s\n", sum, cudaGetErrorString(cudaGetLastError()));
    cudaStreamDestroy(stream);
    cudaFree(a);
    cudaFree(b);
    delete[] h;
}
"#;

#[test]
fn programs_on_the_cpu() {
    let Some(toolkit) = toolkit("cuda-12.4") else { return };
    let lab = Lab::new();
    let source = lab.path("add.cu");
    std::fs::write(&source, SOURCE).unwrap();
    for sanitizer in ["thread", "address", "leak", "undefined"] {
        let program = lab.path(sanitizer);
        let mut nvcc = Command::new(toolkit.join("bin/nvcc"));
        nvcc.args(["-O1", "-g", "-Xcompiler", &format!("-fsanitize={sanitizer}")]);
        let built = nvcc.arg(&source).arg("-o").arg(&program).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        for what in
            [&["run"][..], &["trace", "-c", "-o", "/dev/null"], &["record", "-o", "/dev/null"]]
        {
            let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
            command.args(what).args(["--backend", "cpu"]).arg(&program).stdin(Stdio::null());
            let done = command.env("CUSHIM_CACHE", "off").output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            let printed = String::from_utf8_lossy(&done.stdout).into_owned();
            assert_eq!(
                (printed.as_str(), said.as_str()),
                ("1649967 no error\n", ""),
                "{sanitizer} {what:?}"
            );
            assert!(done.status.success());
        }
    }
}
