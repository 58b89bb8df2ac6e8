import { existsSync } from 'node:fs';
import type { Context } from '../context.ts';

/** Makes a running daemon reload settings and credentials before its next request. */
export async function announceChange({ paths }: Context): Promise<void> {
  if (!existsSync(paths.database)) return;
  const [{ openDatabase }, { bumpConfigurationEpoch }] = await Promise.all([
    import('../../store/database/open.ts'),
    import('../../store/database/write.ts'),
  ]);
  const db = await openDatabase(paths.database);
  try {
    bumpConfigurationEpoch(db);
  } finally {
    db.close();
  }
}
