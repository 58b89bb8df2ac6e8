import { z } from 'zod';
import { describe } from '../operation.ts';

export const openapi = describe({
  summary: 'this document',
  response: z.record(z.string(), z.unknown()),
});
