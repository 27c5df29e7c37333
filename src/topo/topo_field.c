/* topo_field.c - the tables of names and members. */
#include "topo_field.h"

const char *const topo_node_names[] = {
    [TOPO_SOCKET] = "socket", [TOPO_NUMA] = "numa",
    [TOPO_CACHE] = "cache",   [TOPO_PCIE_SWITCH] = "pcie_switch",
    [TOPO_GPU] = "gpu",       [TOPO_NVSWITCH] = "nvswitch",
    [TOPO_NIC] = "nic",       [TOPO_NODE_TYPES] = NULL,
};

const char *const topo_nic_kind_names[] = {"unknown", "ethernet", "infiniband", "virtual", NULL};
const char *const topo_nic_state_names[] = {"unknown", "up", "down", NULL};
const char *const topo_link_class_names[] = {"cpu", "pcie", "nvlink", "network", NULL};

#define NODE(member) offsetof(struct topo_node, member)
#define LINK(member) offsetof(struct topo_link, member)

#define FIELD_CORES                                                                                \
    {                                                                                              \
        "cores", NULL, TOPO_FIELD_CORES, NODE(cores), "none", NULL, false                          \
    }
#define FIELD_PCI                                                                                  \
    {                                                                                              \
        "pci", NULL, TOPO_FIELD_TEXT, NODE(pci), "unknown", NULL, true                             \
    }
#define FIELD_DEVICE                                                                               \
    {                                                                                              \
        "device", NULL, TOPO_FIELD_TEXT, NODE(device), "unknown", NULL, true                       \
    }
#define FIELD_MODEL                                                                                \
    {                                                                                              \
        "model", NULL, TOPO_FIELD_TEXT, NODE(model), "unknown", NULL, false                        \
    }

const struct topo_section topo_sections[] = {
    [TOPO_SOCKET] = {"sockets", TOPO_SOCKET, {FIELD_MODEL, FIELD_CORES}},
    [TOPO_NUMA] = {"numa",
                   TOPO_NUMA,
                   {FIELD_CORES,
                    {"memory", "memory_bytes", TOPO_FIELD_BYTES, NODE(bytes), "unknown", NULL,
                     false}}},
    [TOPO_CACHE] = {"caches",
                    TOPO_CACHE,
                    {{"level", NULL, TOPO_FIELD_COUNT, NODE(level), NULL, NULL, false},
                     {"size", "size_bytes", TOPO_FIELD_BYTES, NODE(bytes), "unknown", NULL, false},
                     FIELD_CORES,
                     {"shared_by", NULL, TOPO_FIELD_COUNT, NODE(shared_by), NULL, NULL, false}}},
    [TOPO_PCIE_SWITCH] = {"pcie_switches", TOPO_PCIE_SWITCH, {FIELD_PCI, FIELD_DEVICE}},
    [TOPO_GPU] = {"gpus", TOPO_GPU, {FIELD_MODEL, FIELD_PCI, FIELD_DEVICE}},
    [TOPO_NVSWITCH] = {"nvswitches", TOPO_NVSWITCH, {FIELD_PCI, FIELD_DEVICE}},
    [TOPO_NIC] =
        {"nics",
         TOPO_NIC,
         {{"name", NULL, TOPO_FIELD_TEXT, NODE(name), "unknown", NULL, false},
          {"kind", NULL, TOPO_FIELD_CHOICE, NODE(kind), "unknown", topo_nic_kind_names, false},
          {"speed", "speed_bytes_per_second", TOPO_FIELD_SPEED, NODE(bytes_per_second), "unknown",
           NULL, false},
          {"link", NULL, TOPO_FIELD_CHOICE, NODE(state), "unknown", topo_nic_state_names, false},
          {"rdma", NULL, TOPO_FIELD_TEXT, NODE(rdma), "none", NULL, true},
          FIELD_PCI,
          FIELD_DEVICE}},
};

const struct topo_field topo_link_fields[] = {
    {"class", NULL, TOPO_FIELD_CHOICE, LINK(class), NULL, topo_link_class_names, false},
    {"bandwidth", "bytes_per_second", TOPO_FIELD_BANDWIDTH, LINK(bytes_per_second), "unknown", NULL,
     false},
    {"latency", "seconds", TOPO_FIELD_SECONDS, LINK(seconds), "unknown", NULL, false},
    {"lanes", NULL, TOPO_FIELD_COUNT, LINK(lanes), "unknown", NULL, true},
    {"distance", NULL, TOPO_FIELD_NUMBER, LINK(distance), "unknown", NULL, true},
    {NULL, NULL, TOPO_FIELD_TEXT, 0, NULL, NULL, false},
};
