/*
 * The Kubernetes plugin as a shared object, with the other files of its room: it is tried against
 * its double, and is not part of the program yet.
 */
#define tr_kubernetes_plugin tr_plugin_table
#include "plugins/kubernetes/kubernetes.c"
