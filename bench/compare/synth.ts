/** Measures how long `cdk synth` takes by the number of brands: the app as `cdk` starts it, bundles included. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { reports } from '../../shared/reports/index.ts';
import { ACME } from '../../test/infra/stack.ts';
import { brandNames } from '../cost/steady-day.ts';
import { withFolder } from './folder.ts';
import { measure } from './measure.ts';
import { median, printTable, spread } from './print.ts';

const templateSchema = z.object({ Resources: z.record(z.string(), z.unknown()) });

export async function printSynth({ brands, rounds }: { brands: number[]; rounds: number }): Promise<void> {
  const rows: string[][] = [];
  let first: number | undefined;
  for (const count of brands) {
    const { wall, cpu, template } = await synthesised(count, rounds);
    first ??= median(cpu);
    const { Resources } = z.parse(templateSchema, JSON.parse(template));
    rows.push([
      ...[
        `${count} brands with all reports`,
        spread(wall, 1),
        spread(cpu, 1),
        (median(cpu) / first).toFixed(2),
      ],
      ...[`${Object.keys(Resources).length}`, (template.length / 1000).toFixed(0)],
    ]);
  }
  console.log('### Synth');
  printTable(['', 'seconds', 'of CPU', '÷ one brand', 'resources', 'kB of template'], rows);
}

function synthesised(count: number, rounds: number) {
  return withFolder(async (folder) => {
    const all = Object.fromEntries(Object.keys(reports).map((name) => [name, { enabled: true }]));
    const brands = Object.fromEntries(brandNames(count).map((name) => [name, { ...ACME, reports: all }]));
    const settings = join(folder, 'settings.json');
    const out = join(folder, 'cdk.out');
    writeFileSync(settings, JSON.stringify({ brands }));
    const env = { CDK_OUTDIR: out, CDK_CONTEXT_JSON: JSON.stringify({ settings }) };
    const [wall, cpu]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      const { code, stderr, wallMs, cpuMs } = await measure({
        program: process.execPath,
        args: ['infra/app.js'],
        env,
      });
      if (code !== 0) throw new Error(`the synth ended with ${code}:\n${stderr.slice(-2000)}`);
      wall.push(wallMs / 1000);
      cpu.push(cpuMs / 1000);
    }
    return { wall, cpu, template: readFileSync(join(out, 'BrandReports.template.json'), 'utf8') };
  });
}
