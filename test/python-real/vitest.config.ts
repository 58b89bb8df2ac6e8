import { defineConfig } from 'vitest/config';

/** Real clients, one after the other: each takes seconds of a processor to start. */
export default defineConfig({
  test: {
    include: ['test/python-real/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
