/* An OMPT tool: counts the regions that the runtime reports, and prints the numbers on standard error at the end.
   A region begins as a target construct; submissions to a device are counted separately. */
#include <stdio.h>
#include <omp-tools.h>

static int targets, submits, moves;

static void on_target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *task,
                      ompt_data_t *target_task, ompt_data_t *target, const void *where) {
    (void)device, (void)task, (void)target_task, (void)target, (void)where;
    if (endpoint != ompt_scope_begin) return;
    if (kind == ompt_target || kind == ompt_target_nowait) __atomic_add_fetch(&targets, 1, __ATOMIC_RELAXED);
    else __atomic_add_fetch(&moves, 1, __ATOMIC_RELAXED);
}

static void on_submit(ompt_scope_endpoint_t endpoint, ompt_data_t *target, ompt_id_t *op, unsigned teams) {
    (void)target, (void)op, (void)teams;
    if (endpoint == ompt_scope_begin) __atomic_add_fetch(&submits, 1, __ATOMIC_RELAXED);
}

static int begin(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    (void)device, (void)data;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    set(ompt_callback_target_emi, (ompt_callback_t)on_target);
    set(ompt_callback_target_submit_emi, (ompt_callback_t)on_submit);
    return 1;
}

static void end(ompt_data_t *data) {
    (void)data;
    fprintf(stderr, "ompt: %d targets, %d submitted, %d moves\n", targets, submits, moves);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t result = {begin, end, {0}};
    (void)version, (void)runtime;
    return &result;
}
