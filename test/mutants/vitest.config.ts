import { join } from 'node:path';
import { mergeConfig } from 'vitest/config';
import type { BaseSequencer } from 'vitest/node';
import config from '../../vitest.config.ts';

const FILES = (process.env.GW_MUTANT_FILES ?? '').split(' ');
type Files = Parameters<BaseSequencer['sort']>[0];

/** The files in the order in which they are named: the likeliest to notice first. */
class Named {
  sort = async (files: Files) => files.toSorted((a, b) => place(a.moduleId) - place(b.moduleId));
  shard = async (files: Files) => files;
}

const place = (path: string) => FILES.findIndex((file) => path.endsWith(file));

export default mergeConfig(config, {
  root: join(import.meta.dirname, '../..'),
  test: {
    setupFiles: [join(import.meta.dirname, 'switch.ts')],
    sequence: { sequencer: Named },
    maxWorkers: 1,
    fileParallelism: false,
    experimental: { fsModuleCache: true, fsModuleCachePath: '.module-cache' },
  },
});
