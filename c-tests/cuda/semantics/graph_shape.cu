// The shape of a graph: dependencies added, read and removed, clones and their
// nodes, destroyed nodes, cycles and other invalid shapes.
#include "../common.h"

__global__ void append(int *list, int what) { list[++list[0]] = what; }

#if CUDART_VERSION >= 13000
#define ADD_EDGES(g, from, to, n) cudaGraphAddDependencies(g, from, to, nullptr, n)
#define REMOVE_EDGES(g, from, to, n) cudaGraphRemoveDependencies(g, from, to, nullptr, n)
#define GET_DEPENDENCIES(node, list, n) cudaGraphNodeGetDependencies(node, list, nullptr, n)
#define GET_DEPENDENT(node, list, n) cudaGraphNodeGetDependentNodes(node, list, nullptr, n)
#define GET_EDGES(g, from, to, n) cudaGraphGetEdges(g, from, to, nullptr, n)
#else
#define ADD_EDGES(g, from, to, n) cudaGraphAddDependencies(g, from, to, n)
#define REMOVE_EDGES(g, from, to, n) cudaGraphRemoveDependencies(g, from, to, n)
#define GET_DEPENDENCIES(node, list, n) cudaGraphNodeGetDependencies(node, list, n)
#define GET_DEPENDENT(node, list, n) cudaGraphNodeGetDependentNodes(node, list, n)
#define GET_EDGES(g, from, to, n) cudaGraphGetEdges(g, from, to, n)
#endif

static int *list;
static cudaStream_t s;

static void run(cudaGraph_t graph, const char *what)
{
    cudaGraphExec_t exec = nullptr;
    int h[8] = {};
    CK(cudaMemset(list, 0, sizeof h));
    if (!CK(instantiate(&exec, graph)))
        return;
    CK(cudaGraphLaunch(exec, s));
    CK(cudaStreamSynchronize(s));
    CK(cudaMemcpy(h, list, sizeof h, cudaMemcpyDeviceToHost));
    printf("%s:", what);
    for (int i = 1; i <= h[0]; i++)
        printf(" %d", h[i]);
    printf("\n");
    CK(cudaGraphExecDestroy(exec));
}

int main()
{
    NEED(cudaMalloc(&list, 8 * sizeof(int)));
    NEED(cudaStreamCreate(&s));
    cudaGraph_t graph = nullptr, clone = nullptr;
    NEED(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node[4] = {};
    for (int i = 0; i < 4; i++) {
        void *args[] = {&list, &i};
        cudaKernelNodeParams k = {};
        k.func = (void *)append;
        k.gridDim = k.blockDim = dim3(1);
        k.kernelParams = args;
        CK(cudaGraphAddKernelNode(&node[i], graph, nullptr, 0, &k));
    }
    cudaGraphNode_t from[] = {node[2], node[0], node[3]}, to[] = {node[0], node[3], node[1]};
    CK(ADD_EDGES(graph, from, to, 3));
    run(graph, "2 0 3 1");
    size_t edges = 0, roots = 0, before = 0, after = 0;
    CK(GET_EDGES(graph, nullptr, nullptr, &edges));
    CK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    CK(GET_DEPENDENCIES(node[0], nullptr, &before));
    CK(GET_DEPENDENT(node[1], nullptr, &after));
    printf("%zu edges, %zu roots, %zu before, %zu after\n", edges, roots, before, after);
    cudaGraphNode_t root = nullptr, left[5] = {}, right[5] = {};
    roots = 1;
    CK(cudaGraphGetRootNodes(graph, &root, &roots));
    expect(root == node[2] && roots == 1, "the root");
    edges = 5;
    CK(GET_EDGES(graph, left, right, &edges));
    bool all = edges == 3;
    for (int i = 0; i < 3; i++) {
        bool found = false;
        for (int j = 0; j < 3; j++)
            found = found || (left[j] == from[i] && right[j] == to[i]);
        all = all && found;
    }
    expect(all, "the edges");

    show("an edge twice", ADD_EDGES(graph, from, to, 1));
    show("an edge to itself", ADD_EDGES(graph, &node[1], &node[1], 1));
    show("a cycle", ADD_EDGES(graph, &node[1], &node[2], 1));
    show("remove what is no edge", REMOVE_EDGES(graph, &node[2], &node[1], 1));
    cudaGetLastError();
    cudaGraphExec_t none = nullptr;
    edges = 0;
    CK(GET_EDGES(graph, nullptr, nullptr, &edges));
    if (edges == 4) {
        show("instance of a cycle", instantiate(&none, graph));
        cudaGetLastError();
        CK(REMOVE_EDGES(graph, &node[1], &node[2], 1));
    }

    CK(cudaGraphClone(&clone, graph));
    cudaGraphNode_t twin = nullptr;
    CK(cudaGraphNodeFindInClone(&twin, node[3], clone));
    expect(twin && twin != node[3], "the node in the clone");
    CK(REMOVE_EDGES(graph, from, to, 3));
    cudaGraphNode_t back_from[] = {node[3], node[2], node[1]}, back_to[] = {node[2], node[1], node[0]};
    CK(ADD_EDGES(graph, back_from, back_to, 3));
    run(graph, "3 2 1 0");
    run(clone, "the clone");
    CK(cudaGraphDestroyNode(twin));
    size_t count = 0;
    CK(cudaGraphGetNodes(clone, nullptr, &count));
    CK(GET_EDGES(clone, nullptr, nullptr, &edges));
    printf("without a node: %zu nodes, %zu edges\n", count, edges);
    show("find a destroyed node", cudaGraphNodeFindInClone(&twin, node[3], clone));
    show("find in what is no clone", cudaGraphNodeFindInClone(&twin, node[3], graph));
    show("an edge between graphs", ADD_EDGES(clone, &node[0], &node[1], 1));
    show("graph with flags", cudaGraphCreate(&clone, 5));
    show("graph to nowhere", cudaGraphCreate(nullptr, 0));
    show("instance of nothing", instantiate(&none, nullptr));
    show("launch nothing", cudaGraphLaunch(nullptr, s));
    show("destroy nothing", cudaGraphDestroy(nullptr));
    cudaGetLastError();
    cudaGraph_t empty = nullptr;
    CK(cudaGraphCreate(&empty, 0));
    run(empty, "nothing in it");
    for (cudaGraph_t g : {graph, clone, empty})
        CK(cudaGraphDestroy(g));
    return finish();
}
