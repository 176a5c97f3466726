import type { Command } from 'commander';
import { reports } from '../../shared/reports/index.ts';
import { environmentOption, lakeOption, settingsOption } from '../options.ts';
import { type RunFlags, openExistingLake, readSettingsIfAny } from '../run-options.ts';

export function addMcp(program: Command): void {
  const command = program.command('mcp');
  command
    .description('serve the lake to an assistant, read-only, on standard input (Model Context Protocol)')
    .addOption(lakeOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addHelpText('after', '\nExample:\n  $ brand-reports mcp --lake /data/lake')
    .action(async (flags: Pick<RunFlags, 'lake' | 'settings' | 'environment'>) => {
      const { serve } = await import('../mcp/server.ts');
      serve(async () => {
        const settings = await readSettingsIfAny(command, flags);
        const { store } = await openExistingLake(flags.lake);
        return { store, settings, reports, nowMs: Date.now() };
      });
    });
}
