/*
 * The Glue catalog of Iceberg tables uses a database of its own. The table's parameter `metadata_location` names the current
 * metadata, and a commit replaces it on condition of the table's version (I5). The names of metadata that this program
 * writes differ from the names that engines write, so that no commit builds on metadata of somebody else.
 */
import { hash } from 'node:crypto';
import {
  CreateTableCommand,
  GetTableCommand,
  GlueClient,
  type Table,
  type TableInput,
  UpdateTableCommand,
} from '@aws-sdk/client-glue';
import { icebergDatabase, icebergLocation, icebergMetadataPrefix } from '../../lake/paths.ts';
import type { IcebergCatalog, IcebergHead, ObjectStore, TableShape } from '../../ports.ts';
import { awsClientOptions, unlessFailedWith } from './errors.ts';
import { EXISTS, MISSING, RACED, glueColumns, inGlue } from './glue-tables.ts';

export function openGlueIceberg(
  database: string,
  store: ObjectStore,
  client = new GlueClient(awsClientOptions),
): IcebergCatalog {
  const DatabaseName = icebergDatabase(database);

  async function load(name: string): Promise<IcebergHead> {
    const read = unlessFailedWith([MISSING], client.send(new GetTableCommand({ DatabaseName, Name: name })));
    const table = (await inGlue(DatabaseName, `Reading the Iceberg table ${name}`, read))?.Table;
    const address = table?.Parameters?.metadata_location;
    const prefix = icebergMetadataPrefix(name);
    const start = `${store.url}/${prefix}`;
    const found = address?.startsWith(start) ? address.slice(start.length) : '';
    const [, version = 0] = /^v(\d{1,15})-[0-9a-f]{16}\.metadata\.json$/.exec(found) ?? [];
    const metadata = version && address ? await store.get(address.slice(store.url.length + 1)) : undefined;
    return {
      ...(metadata && { metadata: metadata.body }),
      async replace(body, shape) {
        const file = `v${Number(version) + 1}-${hash('sha256', body, 'hex').slice(0, 16)}.metadata.json`;
        await store.put(`${prefix}${file}`, body, { ifAbsent: true });
        const next = icebergTable(shape, `${store.url}/${icebergLocation(name)}`, {
          metadata_location: `${store.url}/${prefix}${file}`,
          ...(address !== undefined && { previous_metadata_location: address }),
        });
        const swapping = swap(table, next);
        return inGlue(DatabaseName, `Committing to the Iceberg table ${name}`, swapping);
      },
    };
  }

  /** @returns `false` if a faster writer has created the table or changed its version */
  async function swap(table: Table | undefined, TableInput: TableInput): Promise<boolean> {
    const swapped = table
      ? client.send(
          new UpdateTableCommand({ DatabaseName, TableInput, VersionId: table.VersionId, SkipArchive: true }),
        )
      : client.send(new CreateTableCommand({ DatabaseName, TableInput }));
    return (await unlessFailedWith<object>([RACED, EXISTS], swapped)) !== undefined;
  }

  return { url: store.url, load };
}

/** Engines take the columns from the metadata; the columns here are for people who read Glue. */
function icebergTable(
  { name, description, columns, partitionKeys }: TableShape,
  location: string,
  pointers: Record<string, string>,
): TableInput {
  const keys = partitionKeys.map((key) => ({ name: key, type: 'string' as const }));
  return {
    Name: name,
    Description: description,
    TableType: 'EXTERNAL_TABLE',
    Parameters: { EXTERNAL: 'TRUE', table_type: 'ICEBERG', ...pointers },
    StorageDescriptor: { Columns: glueColumns([...keys, ...columns]), Location: location },
  };
}
