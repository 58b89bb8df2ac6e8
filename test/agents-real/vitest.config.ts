import { defineConfig } from 'vitest/config';

/** Real agents, one after the other: each takes seconds of a processor to start. */
export default defineConfig({
  test: {
    include: ['test/agents-real/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
