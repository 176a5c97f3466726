import type { CliCommand, SharedFlags } from '../options.ts';
import { sqlLake } from '../run-options.ts';

export function addMcp(program: CliCommand): void {
  program
    .command('mcp')
    .description('let an assistant (Model Context Protocol) query the lake')
    .takes('lake', 'settings', 'environment')
    .example('mcp --lake /data/lake')
    .action(async (flags: SharedFlags) => {
      const { serve } = await import('../mcp/server.ts');
      serve(() => sqlLake(flags));
    });
}
