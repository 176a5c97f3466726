/** Every session has limits for memory and time, no files outside its folders, and a configuration that no SQL can change. */
import { totalmem } from 'node:os';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { HOUR_MS } from '../shared/base/days.ts';
import { note } from './output.ts';

const GIB = 2 ** 30;
/** Half of the machine or container, at most 4 GiB. */
const MEMORY_BYTES = Math.min(4 * GIB, totalmem() / 2, (process.constrainedMemory() || Infinity) / 2);
/** For memory that DuckDB does not count, such as one text of gigabytes, and for the rows that Node holds. */
const UNCOUNTED_BYTES = GIB;
/** An interrupted query has this long to end. */
const GRACE_MS = 5_000;
const WATCH_MS = 250;

export interface SessionLimits {
  memoryBytes: number;
  ms: number;
}

/** SQL reads and writes no file outside `folders`; `before` runs before they are locked. `closeSync` also closes the database. */
export async function openSession(
  folders: readonly string[],
  before: (connection: DuckDBConnection) => Promise<void> = async () => {},
  limits: SessionLimits = { memoryBytes: MEMORY_BYTES, ms: HOUR_MS },
): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${Math.floor(limits.memoryBytes / 2 ** 20)}MiB`,
    enable_external_file_cache: 'false',
    autoinstall_known_extensions: 'false',
    // DuckDB also lets SQL read its folder of temporary files, `.tmp` in the current folder.
    temp_directory: '',
  });
  const connection = await instance.connect();
  const watch = watchLimits(connection, limits);
  const close = connection.closeSync.bind(connection);
  connection.closeSync = () => {
    clearInterval(watch);
    close();
    instance.closeSync();
  };
  try {
    await connection.run("SET TimeZone = 'UTC'");
    await before(connection);
    const allowed = folders.map((folder) => `'${folder.replaceAll("'", "''")}/'`).join(', ');
    await connection.run(
      `SET allowed_directories = [${allowed}]; SET enable_external_access = false; SET lock_configuration = true`,
    );
    return connection;
  } catch (thrown) {
    connection.closeSync();
    throw thrown;
  }
}

/** DuckDB checks for interrupts between steps only, and its memory limit does not count single values: then the process ends. */
function watchLimits(connection: DuckDBConnection, { memoryBytes, ms }: SessionLimits): NodeJS.Timeout {
  const startMs = performance.now();
  const startBytes = process.memoryUsage.rss();
  let before = process.cpuUsage();
  return setInterval(() => {
    const pastMs = performance.now() - startMs - ms;
    // A session without a running query waits for a reader of its rows, such as `less`. On a loaded machine a query gets
    // only a small share of a processor.
    const { user, system } = process.cpuUsage(before);
    const isBusy = user + system > (WATCH_MS / 20) * 1000;
    before = process.cpuUsage();
    const isTooLarge = process.memoryUsage.rss() - startBytes > memoryBytes + UNCOUNTED_BYTES;
    if (pastMs > 0) connection.interrupt();
    if (!isTooLarge && (pastMs < GRACE_MS || !isBusy)) return;
    note(`error: the SQL needs too much ${isTooLarge ? 'memory' : 'time'}. Select fewer days or columns.`);
    // An exit would wait for the query. Handlers of this signal remove unfinished files.
    process.kill(process.pid, 'SIGTERM');
  }, WATCH_MS).unref();
}
