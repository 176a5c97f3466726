import { Option } from 'commander';
import type { CliCommand, SharedFlags } from '../options.ts';
import { sqlLake } from '../run-options.ts';

export function addMcp(program: CliCommand): void {
  program
    .command('mcp')
    .description('let an assistant (Model Context Protocol) query the lake')
    .takes('lake', 'settings')
    .addOption(new Option('--answer', 'answer the calls of the server that started this process').hideHelp())
    .example('mcp --lake /data/lake')
    .action(async (flags: SharedFlags & { answer?: boolean }) => {
      const { answer, serve } = await import('../mcp/server.ts');
      if (flags.answer) answer(() => sqlLake(flags));
      else serve();
    });
}
