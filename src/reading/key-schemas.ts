import { z } from 'zod';
import { count, nanoUsd, time, usd } from './usage-schemas.ts';

export const Key = z.object({
  id: z.number().int(),
  project_id: z.string(),
  hint: z.string(),
  admin: z.boolean(),
  label: z.string().nullable(),
  created_at: time,
  revoked_at: time.nullable(),
  expires_at: time.nullable(),
  models: z.array(z.string()).nullable().describe('the models that it may name; null: all'),
  rpm: count.nullable().describe('requests that it may make in a minute; null: any number'),
  last_used_at: time.nullable().describe('when its last recorded request came in'),
  spent_usd: usd,
  spent_nano_usd: nanoUsd,
  team: z.boolean().describe('a key of the team: gw team keys'),
  previous_key_expires_at: time.nullable().describe('until when the key before the last rotation works'),
});

export const NewKey = z.object({
  id: z.number().int(),
  key: z.string().describe('shown only once'),
  project_id: z.string(),
  admin: z.boolean(),
  expires_at: time.nullable(),
});

export const RotatedKey = NewKey.extend({ previous_key_expires_at: time });
