import pino from 'pino';
import { boot } from '../../../src/daemon/boot.ts';
import { type Paths, resolvePaths } from '../../../src/paths.ts';
import { acquireLock } from '../../../src/store/database/lock.ts';
import { buildMonth, type Month, NOW } from '../../frozen/month.ts';
import { seededRandom } from '../../support/random.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { startUpstream } from '../../support/upstream.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

export interface Stage {
  paths: Paths;
  month: Month;
  origin: string;
  clock: VirtualClock;
}

/** A daemon on a home with a month of data, at a time that stands still. */
export async function startMonth(whenDone: (undo: () => Promise<void>) => void): Promise<Stage> {
  const paths = resolvePaths({ GW_HOME: tmpHome(whenDone) });
  const upstream = await startUpstream();
  const month = await buildMonth(paths, upstream.url);
  const lock = acquireLock(paths.lock);
  const clock = createVirtualClock(NOW);
  const log = pino({ level: 'silent' });
  const daemon = await boot({
    ...{ paths, env: {}, flags: { port: 0 }, log, clock },
    random: seededRandom('daemon'),
  });
  whenDone(async () => {
    await daemon.stop({ graceMs: 0 });
    lock?.release();
    await upstream.close();
  });
  return { paths, month, clock, origin: `http://127.0.0.1:${daemon.port}` };
}
