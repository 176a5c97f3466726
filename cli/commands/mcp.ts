import type { CliCommand, SharedFlags } from '../options.ts';
import { sqlLake } from '../run-options.ts';

export function addMcp(program: CliCommand): void {
  program
    .command('mcp')
    .description('serve the lake to an assistant, read-only, on standard input (Model Context Protocol)')
    .takes('lake', 'settings', 'environment')
    .example('mcp --lake /data/lake')
    .action(async (flags: SharedFlags) => {
      const { serve } = await import('../mcp/server.ts');
      serve(() => sqlLake(flags));
    });
}
