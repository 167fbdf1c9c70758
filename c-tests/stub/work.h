/* What the test-only driver tells the test-only CUPTI. */
#ifndef STUB_WORK_H
#define STUB_WORK_H

struct stub_work {
    int kind; /* 1 copy, 2 set, 10 kernel: CUPTI's numbers */
    const char *name;
    unsigned grid[3], block[3], shared, stream;
    int direction;
    unsigned long bytes, graph_node, ns;
};

#endif
