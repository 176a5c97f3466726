/*
 * Publishes the tables of closed months, e.g. `orders_closed`: a partition for each day in a close, which points at the
 * version that the close keeps. The partitions depend on the closes alone. `close` and the function `watch` create them.
 */
import { mapConcurrent } from '../concurrency.ts';
import type { BrandReport } from '../context/context.ts';
import type { Close } from '../lake/documents/close.ts';
import { snapshotsByTable } from '../lake/documents/read.ts';
import { CLOSED_PARTITION_KEYS, closedPartition, closedTable, partitionPath } from '../lake/paths.ts';
import { dayShapes } from '../pipeline/publish.ts';
import type { TableShape } from '../ports.ts';

const CONCURRENCY = 8;

/** `orders_closed` for `orders` */
export function closedShape(shape: TableShape): TableShape & { snapshotsOf: string } {
  return {
    ...shape,
    name: closedTable(shape.name),
    description: `${shape.description}; as it was when the month was closed`,
    partitionKeys: CLOSED_PARTITION_KEYS,
    snapshotsOf: shape.name,
  };
}

/**
 * Points the partitions of a report's days in the tables of closed months at the versions in the closes, and removes
 * all other partitions.
 * @param closes closes of other brands are ignored
 * @param month only the partitions of this close; missing: of all closes
 */
export async function publishCloses(
  ctx: BrandReport,
  closes: readonly Close[],
  month?: string,
): Promise<void> {
  const { brand, report, lake } = ctx;
  const { catalog } = lake;
  if (!catalog) return;
  const leading = month === undefined ? [] : closedPartition(month, brand);
  for (const shape of (await dayShapes(ctx)).map(closedShape)) {
    const found = await catalog.snapshotsByPartition(shape.name, leading);
    const wanted = new Map(
      closes.flatMap((close) =>
        close.days.flatMap((day) => {
          const snapshot = new Map(snapshotsByTable(report, day)).get(shape.snapshotsOf);
          const partition = closedPartition(close.month, brand, day.day);
          const isOwn = close.brand === brand && day.report === report.name && snapshot !== undefined;
          return isOwn ? [[partitionPath(partition), { partition, snapshot }] as const] : [];
        }),
      ),
    );
    await mapConcurrent([...wanted], CONCURRENCY, async ([path, { partition, snapshot }]) => {
      const pointed = found.get(path) ?? [];
      if (pointed.length !== 1 || pointed[0] !== snapshot)
        await catalog.setSnapshot(shape, partition, snapshot);
    });
    const stray = [...found.keys()].filter((path) => path.includes(`/brand=${brand}/`) && !wanted.has(path));
    await mapConcurrent(stray, CONCURRENCY, (path) => {
      const [close = '', , day = ''] = path.split('/').map((part) => part.slice(part.indexOf('=') + 1));
      return catalog.removePartition(shape.name, closedPartition(close, brand, day));
    });
  }
}
