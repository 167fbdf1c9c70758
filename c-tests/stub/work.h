/* The work that the test-only driver reports to the test-only CUPTI. */
#ifndef STUB_WORK_H
#define STUB_WORK_H

struct stub_work {
    int kind; /* CUPTI's numbers: 1 copy, 2 memset, 10 kernel */
    const char *name;
    unsigned grid[3], block[3], shared, stream;
    int direction;
    unsigned long bytes, graph_node, ns;
};

#endif
