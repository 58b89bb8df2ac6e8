import { defineConfig } from 'vitest/config';

/** Real client libraries, from the package of this folder. */
export default defineConfig({
  test: {
    include: ['test/javascript-real/*.test.ts'],
    fileParallelism: false,
    testTimeout: 90_000,
    hookTimeout: 90_000,
  },
});
