import type { Command } from 'commander';
import { reports } from '../../shared/reports/index.ts';
import { environmentOption, lakeOption, settingsOption } from '../options.ts';
import { type RunFlags, openExistingLake, readSettingsIfAny } from '../run-options.ts';

export function addMcp(program: Command): void {
  const command = program.command('mcp');
  command
    .description(
      'serve the lake to an assistant, read-only, over standard input and output (Model Context Protocol)',
    )
    .addOption(lakeOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addHelpText(
      'after',
      `
An assistant starts it: docs/assistant.md has the configuration of Claude Desktop, Claude Code and VS Code.

Example:
  $ brand-reports mcp --lake /data/lake --settings /data/settings.jsonc`,
    )
    .action(async (flags: Pick<RunFlags, 'lake' | 'settings' | 'environment'>) => {
      const { serve } = await import('../mcp/server.ts');
      await serve(async () => {
        const settings = await readSettingsIfAny(command, flags);
        const { store } = await openExistingLake(flags.lake);
        return { store, settings, reports, nowMs: Date.now() };
      });
    });
}
