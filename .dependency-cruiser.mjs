// What may import what. `npm run imports` fails on an import that goes upwards, to a neighbour or in a circle,
// type-only imports included, and on a package of the outside world in the core.

/**
 * The layers of shared/, from the top to the lowest. A room (a folder, or a file of its own) imports only rooms of lower
 * layers; two rooms of one layer do not know each other.
 */
const layers = [
  ['operations', 'repair'],
  ['run'],
  ['watcher'],
  ['catalog', 'status'],
  ['pipeline'],
  ['details'],
  ['attempt'],
  ['day-facts'],
  ['history', 'findings', 'iceberg', 'lifecycle'],
  ['context'],
  ['planning'],
  ['settings', 'adapters'],
  ['service', 'lake'],
  ['ports'],
  ['log-events'],
  ['roles'],
  ['reports', 'validation', 'outcome', 'proofs'],
  ['column-types'],
  ['exact-values', 'records'],
  ['kernel'],
  ['command-line'],
  ['json', 'days', 'errors', 'concurrency', 'backoff', 'shell-word', 'exact-number'],
];

/** Features that can be removed: others import only their `index.ts`, which names all that they offer. */
const sideRooms = ['history', 'findings', 'iceberg', 'details', 'watcher', 'repair', 'lifecycle'];

/** Who uses the core. Each may import any room of the layers, and of the others only what stands here. */
const programs = {
  cli: ['sample'],
  functions: [],
  infra: [],
  sample: [],
  bench: ['sample', 'functions', 'infra', 'cli', 'test'],
};

/** The packages and modules of Node that the core may import: computation only, no disk, no network, no AWS. */
const corePackages = ['zod', 'hyparquet', 'hyparquet-writer', 'parquetjs-lite'];
const coreModules = ['buffer', 'crypto', 'util', 'zlib'];

const roomPath = (room) => `^shared/${room}(/|\\.ts$)`;
const folderPath = (folder) => `^${folder}/`;
const paths = (rooms, pathOf) => rooms.map(pathOf);

const upwards = layers.flatMap((step, index) =>
  step.map((room) => ({
    name: `${room} imports lower layers only`,
    comment: 'The layers stand in .dependency-cruiser.mjs. Move the shared part to a lower one.',
    severity: 'error',
    from: { path: roomPath(room) },
    to: { path: '^shared/', pathNot: paths([room, ...layers.slice(index + 1).flat()], roomPath) },
  })),
);

const throughDoors = sideRooms.map((room) => ({
  name: `${room} is imported through its index.ts`,
  comment: 'Export what is needed from index.ts, or move it to a lower layer.',
  severity: 'error',
  from: { pathNot: [roomPath(room), folderPath('test')] },
  to: { path: roomPath(room), pathNot: `^shared/${room}/index\\.ts$` },
}));

const betweenPrograms = Object.entries(programs).map(([program, allowed]) => ({
  name: `${program} imports the core and ${allowed.join(', ') || 'itself'} only`,
  comment: 'Programs share code through the core.',
  severity: 'error',
  from: { path: folderPath(program) },
  to: {
    path: paths([...Object.keys(programs), 'test'], folderPath),
    pathNot: paths([program, ...allowed], folderPath),
  },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no circle',
      comment: 'Two files that need each other are one file, or share a third one below them.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'every file of shared has a room',
      comment: 'Name the room in the layers of .dependency-cruiser.mjs.',
      severity: 'error',
      from: {},
      to: { path: '^shared/', pathNot: paths(layers.flat(), roomPath) },
    },
    ...upwards,
    ...throughDoors,
    {
      name: 'building makes no request',
      comment: 'Requests belong to attempt/fetch.ts; pipeline/read-day.ts hands their pages to the builder.',
      severity: 'error',
      from: { path: '^shared/pipeline/(build|builder|rebuild-day)\\.ts$' },
      to: { path: '^shared/(service/|details/|attempt/fetch\\.ts$)', reachable: true },
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
      from: { path: '^shared/', pathNot: roomPath('adapters') },
      to: { path: roomPath('adapters') },
    },
    {
      name: 'the core knows no AWS, disk or network',
      comment: 'What touches the outside world is an adapter behind a port of shared/ports.ts.',
      severity: 'error',
      from: { path: '^shared/', pathNot: roomPath('adapters') },
      to: {
        dependencyTypesNot: ['local'],
        pathNot: [`^(node:)?(${coreModules.join('|')})$`, `node_modules/(${corePackages.join('|')})/`],
      },
    },
    {
      name: 'adapters know no CDK',
      comment: 'Constructs belong to infra.',
      severity: 'error',
      from: { path: ['^shared/adapters/', '^functions/', '^cli/'] },
      to: { path: 'node_modules/(aws-cdk-lib|constructs)/' },
    },
    ...betweenPrograms,
  ],
  // Without these a parser that sees no imports would let everything pass.
  required: [
    {
      name: 'imports are seen',
      comment: 'The parser has missed an import of shared/run/sync.ts.',
      severity: 'error',
      module: { path: '^shared/run/sync\\.ts$' },
      to: { path: '^shared/pipeline/sync-day\\.ts$' },
    },
    {
      name: 'type-only imports are seen',
      comment: 'The parser has missed an `import type` of shared/ports.ts.',
      severity: 'error',
      module: { path: '^shared/ports\\.ts$' },
      to: { path: '^shared/json\\.ts$' },
    },
  ],
  options: {
    // TypeScript 7 has no JavaScript API. swc sees every import, `import type` as well.
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    preserveSymlinks: true,
  },
};
