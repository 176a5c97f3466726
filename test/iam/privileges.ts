/**
 * Prints the rights of each function's role, and whether the life of a deployment in `exercise.ts` uses them (`npm run
 * privileges`).
 */
import { deployToDoubles } from '../functions/deployed.ts';
import { exercise, usageOf } from './exercise.ts';

const deployment = await deployToDoubles(() => new Date());
await exercise(deployment);
await deployment.close();
const usage = usageOf(deployment);
const rows = [...Map.groupBy(usage, ({ name }) => name)].map(([name, own]) => {
  const unused = own.filter(({ calls }) => calls === 0);
  const refused = deployment.refused.filter(({ role }) =>
    deployment.functions.some((one) => one.name === name && one.role === role),
  );
  return [
    name,
    own.length,
    own.length - unused.length,
    unused.filter(({ reason }) => reason !== undefined).length,
    unused.filter(({ reason }) => reason === undefined).length,
    refused.length,
  ];
});
const header = ['function', 'permissions', 'used', 'unused, with a reason', 'unused', 'calls refused'];
const line = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`;
console.log(
  [line(header), line(header.map((_name, column) => (column === 0 ? '---' : '--:'))), ...rows.map(line)].join(
    '\n',
  ),
);
const wrong = [
  ...usage
    .filter(({ calls, reason }) => calls === 0 && reason === undefined)
    .map(({ name, action, resource }) => `unused: ${name} ${action} ${resource}`),
  ...new Set(
    deployment.refused.map(({ role, action, resource }) => `refused: ${role} ${action} ${resource}`),
  ),
];
if (wrong.length > 0) console.log(`\n${wrong.join('\n')}`);
process.exitCode = wrong.length > 0 ? 1 : 0;
