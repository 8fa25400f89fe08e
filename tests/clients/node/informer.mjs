// An informer of @kubernetes/client-node, which prints the events that it receives until it is stopped.
import * as k8s from '@kubernetes/client-node';

const namespace = process.argv[2];
const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const labelSelector = 'set=followed';
const list = () => core.listNamespacedConfigMap({ namespace, labelSelector });
const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, list, labelSelector);
for (const what of ['add', 'update', 'delete']) informer.on(what, (object) => console.log(what, object.metadata.name));
informer.on('error', () => setTimeout(() => informer.start(), 100)); // as its documentation advises
await informer.start();
