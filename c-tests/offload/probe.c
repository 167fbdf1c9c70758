/* A program that looks for libomptarget in every way, and prints the results. */
#include <dlfcn.h>
#include <stdio.h>
#define WEAK __attribute__((weak))
#include "abi.h"
#define ASK(name) printf(#name ": weak %d, default %d, next %d\n", name != 0, dlsym(RTLD_DEFAULT, #name) != NULL, dlsym(RTLD_NEXT, #name) != NULL)
int main(void) {
    ASK(__tgt_register_lib);
    ASK(__tgt_target_kernel);
    ASK(__tgt_target_data_begin_mapper);
    ASK(omp_get_num_devices);
    ASK(omp_target_alloc);
    ASK(omp_target_is_present);
    ASK(llvmLaunchKernel);
    ASK(__llvmPushCallConfiguration);
    printf("versioned %d\n", dlvsym(RTLD_DEFAULT, "__tgt_target_kernel", "VERS1.0") != NULL);
    if (omp_target_is_present) printf("present %d\n", omp_target_is_present(&main, 0));
    int (*present)(const void *, int) = (int (*)(const void *, int))dlsym(RTLD_DEFAULT, "omp_target_is_present");
    if (present) printf("present %d\n", present(&main, 0));
    return 0;
}
