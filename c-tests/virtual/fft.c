/*
 * Replaces a cuFFT whose runtime finds no driver: every plan fails, and no handle is valid.
 */
#define FAILS(name, status)                                                                                            \
    int name() { return status; }

int cufftGetVersion(int *version)
{
    *version = 11404;
    return 0;
}
FAILS(cufftCreate, 5)
FAILS(cufftPlan1d, 5)
FAILS(cufftPlan3d, 5)
FAILS(cufftPlanMany, 5)
FAILS(cufftMakePlan1d, 1)
FAILS(cufftMakePlanMany, 1)
FAILS(cufftMakePlanMany64, 1)
FAILS(cufftXtMakePlanMany, 1)
FAILS(cufftEstimate1d, 5)
FAILS(cufftGetSize, 1)
FAILS(cufftSetStream, 1)
FAILS(cufftSetAutoAllocation, 1)
FAILS(cufftSetWorkArea, 1)
FAILS(cufftSetPlanPropertyInt64, 1)
FAILS(cufftGetPlanPropertyInt64, 1)
FAILS(cufftExecC2C, 1)
FAILS(cufftExecR2C, 1)
FAILS(cufftExecC2R, 1)
FAILS(cufftExecZ2Z, 1)
FAILS(cufftExecD2Z, 1)
FAILS(cufftExecZ2D, 1)
FAILS(cufftXtExec, 1)
FAILS(cufftXtSetGPUs, 1)
FAILS(cufftXtSetCallback, 1)
FAILS(cufftDestroy, 1)
