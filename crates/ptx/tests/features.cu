#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
__device__ int recf(int n){ return n<2?n:recf(n-1)+recf(n-2);} 
typedef int (*fp)(int);
__device__ __noinline__ int dbl(int x){return 2*x;}
__device__ __noinline__ int sq(int x){return x*x;}
__device__ fp table[2]={dbl,sq};
__constant__ float cst[4]={1,2,3,4};
extern __shared__ float dyn[];
__global__ void k_rec(int*o){ o[threadIdx.x]=recf(threadIdx.x);} 
__global__ void k_fp(int*o){ o[threadIdx.x]=table[threadIdx.x&1](threadIdx.x);} 
__global__ void k_printf(float x){ printf("hi %d %f %s\n",threadIdx.x,x,"str"); }
__global__ void k_half(__half2*a,__nv_bfloat162*b,float*o){ int i=threadIdx.x; __half2 h=__hfma2(a[i],a[i],a[i]); o[i]=__low2float(h)+__high2float(h); b[i]=__hadd2(b[i],b[i]); }
__global__ void k_reduce(float*in,float*out){ auto b=cg::this_thread_block(); auto t=cg::tiled_partition<8>(b); float v=in[blockIdx.x*blockDim.x+threadIdx.x]; for(int o=4;o;o/=2) v+=t.shfl_down(v,o); dyn[threadIdx.x]=v; __syncthreads(); if(threadIdx.x==0) {float s=0; for(int i=0;i<blockDim.x;i+=8) s+=dyn[i]; atomicAdd(out,s*cst[blockIdx.x&3]);} }
__global__ void k_grid(int*d){ auto g=cg::this_grid(); d[g.thread_rank()]=1; g.sync(); if(g.thread_rank()==0){int s=0; for(int i=0;i<g.size();i++)s+=d[i]; d[0]=s;} }
__global__ void k_lock(int*l,int*c){ while(atomicCAS(l,0,1)!=0); __threadfence(); *c+=1; __threadfence(); atomicExch(l,0); }
__global__ void k_math(double*d,float*f,int n){ int i=threadIdx.x; d[i]=sin(d[i])+pow(d[i],2.5)/(n+i)+sqrt(d[i]); f[i]=sinf(f[i])+expf(f[i])+rsqrtf(f[i])+__fdividef(f[i],3.f)+tanhf(f[i])+logf(f[i])+fmodf(f[i],n); f[i]+= (long long)d[i]/n + (unsigned long long)f[i]%7; }
__global__ void k_switch(int*o,int a){ switch(a){case 0:o[0]=5;break;case 1:o[1]=7;break;case 2:o[2]=9;break;case 3:o[9]=11;break;case 4:o[1]=88;break;case 5: o[3]=4;break; case 6: o[8]=0; break; default:o[0]=-1;} }
__global__ void k_vote(unsigned*o){ unsigned m=__activemask(); o[0]=__ballot_sync(m,threadIdx.x&1); o[1]=__any_sync(m,threadIdx.x==3); o[2]=__match_any_sync(m,threadIdx.x/4);
#if __CUDA_ARCH__>=800
 o[3]=__reduce_add_sync(m,threadIdx.x);
#endif
 o[4]=__syncthreads_count(threadIdx.x<5); if(threadIdx.x==77) __trap(); }
struct Big{int a[20];}; __device__ __noinline__ int usebig(Big b,int i){return b.a[i];}
__global__ void k_big(Big b,int*o){ o[threadIdx.x]=usebig(b,threadIdx.x%20);} 
__global__ void k_malloc(int**o){ o[threadIdx.x]=(int*)malloc(16); *o[threadIdx.x]=3; }
__global__ void k_asm(unsigned*o){ unsigned x; asm volatile("{ .reg .u32 t1; mov.u32 t1, %%laneid; add.u32 %0, t1, (4+5)*2; }":"=r"(x)); o[0]=x; }
