// A session with @kubernetes/client-node: objects, patches of each kind, apply, a watch, pages, custom resources.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const namespace = process.argv[2];
const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const labels = { set: 'node' };

/** Returns the status code of a call that fails. */
async function refusal(call) {
  try {
    await call;
  } catch (error) {
    return error.code;
  }
  throw new Error('it was not refused');
}

const configmap = (name, data) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data });
const create = (name, data) => core.createNamespacedConfigMap({ namespace, body: configmap(name, data) });
const patch = (name, body, strategy) =>
  core.patchNamespacedConfigMap({ name, namespace, body }, k8s.setHeaderOptions('Content-Type', strategy));

async function objects() {
  const made = await create('a', { k: '1' });
  assert.ok(made.metadata.creationTimestamp instanceof Date);
  assert.equal(await refusal(create('a')), 409);
  assert.equal(await refusal(core.readNamespacedConfigMap({ name: 'absent', namespace })), 404);
  made.data = { k: '2' };
  assert.deepEqual((await core.replaceNamespacedConfigMap({ name: 'a', namespace, body: made })).data, { k: '2' });
  assert.equal(await refusal(core.replaceNamespacedConfigMap({ name: 'a', namespace, body: made })), 409);
  assert.deepEqual((await patch('a', { data: { l: '3' } }, k8s.PatchStrategy.StrategicMergePatch)).data, { k: '2', l: '3' });
  assert.deepEqual((await patch('a', { data: { k: null } }, k8s.PatchStrategy.MergePatch)).data, { l: '3' });
  const operations = [{ op: 'replace', path: '/data/l', value: '4' }];
  assert.deepEqual((await patch('a', operations, k8s.PatchStrategy.JsonPatch)).data, { l: '4' });
  assert.equal((await core.deleteNamespacedConfigMap({ name: 'a', namespace })).status, 'Success');
}

async function pages() {
  for (let number = 0; number < 5; number++) await create(`page-${number}`);
  const names = [];
  let following;
  do {
    const page = await core.listNamespacedConfigMap({ namespace, labelSelector: 'set=node', limit: 2, _continue: following });
    names.push(...page.items.map((one) => one.metadata.name));
    following = page.metadata._continue;
  } while (following);
  assert.deepEqual(names, [0, 1, 2, 3, 4].map((number) => `page-${number}`));
  await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'set=node' });
}

async function applying() {
  const api = k8s.KubernetesObjectApi.makeApiClient(config);
  const apply = (manager, data, force) =>
    api.patch(configmap('applied', data), undefined, undefined, manager, force, k8s.PatchStrategy.ServerSideApply);
  await apply('one', { k: '1' });
  assert.equal(await refusal(apply('two', { k: '2' })), 409);
  assert.deepEqual((await apply('two', { k: '2' }, true)).data, { k: '2' });
  assert.deepEqual((await apply('one', { l: '3' })).data, { k: '2', l: '3' });
  await api.delete(configmap('applied'));
}

async function watching() {
  const since = (await core.listNamespacedConfigMap({ namespace })).metadata.resourceVersion;
  await create('w');
  const seen = [];
  await new Promise((resolve, reject) => {
    let request;
    const next = async (phase, object) => {
      seen.push([phase, object.data]);
      if (phase === 'ADDED') await patch('w', { data: { k: '1' } }, k8s.PatchStrategy.MergePatch);
      if (phase === 'MODIFIED') await core.deleteNamespacedConfigMap({ name: 'w', namespace });
      if (phase === 'DELETED') (await request).abort();
    };
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const done = (error) => (error && error.name !== 'AbortError' ? reject(error) : resolve());
    request = new k8s.Watch(config).watch(path, { resourceVersion: since, labelSelector: 'set=node' }, next, done);
  });
  assert.deepEqual(seen, [['ADDED', undefined], ['MODIFIED', { k: '1' }], ['DELETED', { k: '1' }]]);
}

async function customKinds() {
  const group = `${namespace}.example.com`;
  const schema = { openAPIV3Schema: { type: 'object', x_kubernetes_preserve_unknown_fields: true } };
  const versions = [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }];
  const spec = { group, scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' }, versions };
  const definitions = config.makeApiClient(k8s.ApiextensionsV1Api);
  const body = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: `things.${group}` }, spec };
  await definitions.createCustomResourceDefinition({ body });
  const things = config.makeApiClient(k8s.CustomObjectsApi);
  const where = { group, version: 'v1', namespace, plural: 'things' };
  const thing = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 't' }, spec: { a: 1 } };
  await things.createNamespacedCustomObject({ ...where, body: thing });
  const status = [{ op: 'add', path: '/status', value: { b: 2 } }];
  await things.patchNamespacedCustomObjectStatus({ ...where, name: 't', body: status });
  const found = await things.getNamespacedCustomObject({ ...where, name: 't' });
  assert.deepEqual([found.spec, found.status], [{ a: 1 }, { b: 2 }]);
  await definitions.deleteCustomResourceDefinition({ name: `things.${group}` });
}

await objects();
await pages();
await applying();
await watching();
await customKinds();
