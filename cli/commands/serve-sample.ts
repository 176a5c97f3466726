import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import type { GivenFlags } from '../../shared/base/command-line.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { refuseFullPlace, writeNew } from '../new-file.ts';
import { type CliCommand, port } from '../options.ts';
import { print } from '../output.ts';
import { printedCommand } from '../printed-command.ts';

interface ServeFlags {
  port: number;
  writeSettings?: string;
}

export function addServeSample(program: CliCommand): void {
  program
    .command('serve-sample')
    .description('serve sample reports on this machine, until Ctrl-C')
    .option('--port <n>', 'the port; 0 picks any free port', port, 0)
    .option('--write-settings <folder>', 'write its settings.json and credentials.json into this folder')
    .example('serve-sample --port 8080 --write-settings sample-settings')
    .action(async (flags: ServeFlags) => {
      const service = await startSampleService({ port: flags.port });
      try {
        const files =
          flags.writeSettings === undefined ? undefined : await writeFiles(service, flags.writeSettings);
        print(`The sample service is running at ${service.url}. Press Ctrl-C to stop it.`);
        for (const { name, baseUrl, timeZone } of Object.values(service.brands))
          print(`  ${name}  ${baseUrl}  ${timeZone}`);
        if (files) print(`Sync it with: ${printedCommand('sync', [], files)}`);
        else print('To sync from it, start it with --write-settings FOLDER.');
        await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
      } finally {
        await service.close();
      }
    });
}

async function writeFiles(service: SampleService, folder: string): Promise<GivenFlags> {
  const settings = join(folder, 'settings.json');
  const credentials = join(folder, 'credentials.json');
  await mkdir(folder, { recursive: true });
  await refuseFullPlace(settings);
  await writeNew(credentials, `${JSON.stringify(sampleCredentials(service), null, 2)}\n`);
  await writeNew(settings, `${JSON.stringify(sampleSettings(service), null, 2)}\n`);
  return { settings, credentials };
}
