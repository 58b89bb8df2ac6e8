import { defineConfig } from 'vitest/config';

/** Draws the pictures in docs/pictures: npm run pictures. */
export default defineConfig({
  test: { include: ['test/pictures/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
});
