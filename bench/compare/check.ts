/** Measures how long `check` takes to report a host that does not respond, because people wait for it. */
import { join } from 'node:path';
import { ours } from './competitors.ts';
import { withFolder } from './folder.ts';
import { measure } from './measure.ts';
import { printTable, spread } from './print.ts';

const HOSTS = {
  'a name that does not exist': 'https://no-such-host.invalid/acme',
  'a port that is closed': 'http://127.0.0.1:9/acme',
};

export async function printCheck(rounds: number): Promise<void> {
  console.log(`### Check of a host that is not there, ${rounds} rounds`);
  const rows: string[][] = [];
  for (const [name, url] of Object.entries(HOSTS)) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) times.push(await secondsUntilFailure(url));
    rows.push([name, spread(times, 1)]);
  }
  printTable(['', 's until the failure'], rows);
}

function secondsUntilFailure(url: string): Promise<number> {
  return withFolder(async (folder) => {
    const { program, args, ...rest } = await ours.command({ url, folder, days: 1, inFlight: 1 });
    const flags = [
      '--settings',
      join(folder, 'settings.json'),
      '--credentials',
      args[args.indexOf('--credentials') + 1] ?? '',
    ];
    const { code, wallMs, stdout } = await measure({
      ...rest,
      program,
      args: [...args.slice(0, 1), 'check', ...flags],
    });
    if (code !== 1 || stdout.includes('clocks'))
      throw new Error(`check ended with ${code}:\n${stdout.slice(-2000)}`);
    return wallMs / 1000;
  });
}
