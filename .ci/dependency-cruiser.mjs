// Defines which module may import which. `npm run imports` fails on imports of higher layers, of neighbours or in a
// circle, imports of types included, and on a package of the outside world in the core.

/**
 * The layers of shared/, highest first. A module (a folder, or `ports.ts`) imports only modules of lower layers; modules of one
 * layer do not import each other.
 */
const layers = [
  ['check', 'operations'],
  ['run'],
  ['catalog', 'watch'],
  ['day'],
  ['history', 'findings'],
  ['context'],
  ['planning'],
  ['adapters'],
  ['service', 'lake'],
  ['table', 'settings'],
  ['ports'],
  ['reports'],
  ['records'],
  ['base'],
];

/**
 * Features that can be removed: other code imports only their `index.ts`, which exports everything that they offer.
 */
const removable = [
  'history',
  'findings',
  'catalog/iceberg',
  'day/details',
  'watch/watcher',
  'operations/restore',
];

/**
 * The programs that use the core. Each may import any module of the layers and, of the other programs, only the listed
 * ones.
 */
const programs = {
  cli: ['sample'],
  functions: [],
  infra: [],
  sample: [],
  bench: ['cli', 'sample', 'functions', 'infra', 'test'],
};

/** The packages and modules of Node that the core may import: computation only, no disk, no network, no AWS. */
const corePackages = ['zod', 'hyparquet', 'hyparquet-writer', 'parquetjs-lite'];
const coreModules = ['buffer', 'crypto', 'util', 'zlib'];

const modulePath = (module) => `^shared/${module}(/|\\.ts$)`;
const folderPath = (folder) => `^${folder}/`;
const paths = (modules, pathOf) => modules.map(pathOf);

const upwards = layers.flatMap((layer, index) =>
  layer.map((module) => ({
    name: `${module} imports lower layers only`,
    comment: '.ci/dependency-cruiser.mjs lists the layers. Move the shared part to a lower layer.',
    severity: 'error',
    from: { path: modulePath(module) },
    to: { path: '^shared/', pathNot: paths([module, ...layers.slice(index + 1).flat()], modulePath) },
  })),
);

const throughIndex = removable.map((module) => ({
  name: `${module} is imported through its index.ts`,
  comment: 'Export it from index.ts, or move it to a lower layer.',
  severity: 'error',
  from: { pathNot: [modulePath(module), folderPath('test')] },
  to: { path: modulePath(module), pathNot: `^shared/${module}/index\\.ts$` },
}));

const betweenPrograms = Object.entries(programs).map(([program, allowed]) => ({
  name: `${program} imports the core and ${allowed.join(', ') || 'itself'} only`,
  comment: 'Programs share code through the core.',
  severity: 'error',
  from: { path: folderPath(program) },
  to: {
    path: paths([...Object.keys(programs), 'test'], folderPath),
    // It only finds a Node that is new enough, for the command line and for the CDK app.
    pathNot: [...paths([program, ...allowed], folderPath), '^cli/launch\\.js$'],
  },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no circle',
      comment: 'Join two files that need each other, or move the shared part to a third file.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'every file of shared is in a module',
      comment: 'Add the module to the layers of .ci/dependency-cruiser.mjs.',
      severity: 'error',
      from: {},
      to: { path: '^shared/', pathNot: paths(layers.flat(), modulePath) },
    },
    ...upwards,
    ...throughIndex,
    {
      name: 'building makes no request',
      comment: 'Requests belong to day/fetch.ts; day/read-day.ts hands their pages to the builder.',
      severity: 'error',
      from: { path: '^shared/day/(build|builder|rebuild-day)\\.ts$' },
      to: { path: '^shared/(service/|day/details/|day/fetch\\.ts$)', reachable: true },
    },
    {
      name: 'the core imports no program',
      comment: 'Programs import the core, never the other way round.',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: paths([...Object.keys(programs), 'test'], folderPath) },
    },
    {
      name: 'the core imports no adapter',
      comment: 'Take a port (shared/ports.ts) as an argument; cli, functions and infra choose the adapter.',
      severity: 'error',
      from: { path: '^shared/', pathNot: modulePath('adapters') },
      to: { path: modulePath('adapters') },
    },
    {
      name: 'the core uses no AWS, disk or network',
      comment: 'Code that reaches the outside world is an adapter that implements a port of shared/ports.ts.',
      severity: 'error',
      from: { path: '^shared/', pathNot: modulePath('adapters') },
      to: {
        dependencyTypesNot: ['local'],
        pathNot: [`^(node:)?(${coreModules.join('|')})$`, `node_modules/(${corePackages.join('|')})/`],
      },
    },
    {
      name: 'adapters import no CDK',
      comment: 'Constructs belong to infra.',
      severity: 'error',
      from: { path: ['^shared/adapters/', '^functions/', '^cli/'] },
      to: { path: 'node_modules/(aws-cdk-lib|constructs)/' },
    },
    ...betweenPrograms,
  ],
  // Without these rules, a parser that misses imports would let everything pass.
  required: [
    {
      name: 'imports are seen',
      comment: 'The parser has missed an import of shared/run/sync.ts.',
      severity: 'error',
      module: { path: '^shared/run/sync\\.ts$' },
      to: { path: '^shared/day/sync-day\\.ts$' },
    },
    {
      name: 'type-only imports are seen',
      comment: 'The parser has missed an `import type` of shared/ports.ts.',
      severity: 'error',
      module: { path: '^shared/ports\\.ts$' },
      to: { path: '^shared/base/json\\.ts$' },
    },
  ],
  options: {
    // TypeScript 7 has no JavaScript API. swc finds every import, including `import type`.
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    preserveSymlinks: true,
  },
};
