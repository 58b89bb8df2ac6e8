import { z } from 'zod';
import { describe } from '../operation.ts';
import { count, listOf, money, only_project, time } from './fields.ts';

const Key = z.object({
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
  ...money('spent'),
  team: z.boolean().describe('a key of the team: gw team keys'),
  previous_key_expires_at: time.nullable().describe('until when the key before the last rotation works'),
});
export type KeyView = z.infer<typeof Key>;

const NewKey = z.object({
  id: z.number().int(),
  key: z.string().describe('shown only once'),
  project_id: z.string(),
  admin: z.boolean(),
  expires_at: time.nullable(),
});
export type NewKeyView = z.infer<typeof NewKey>;

const admin = ['making and revoking keys', 'gw keys create'] as const;
const expiry = z.iso.datetime({ offset: true }).nullable();

export const keys = describe({
  summary: 'the keys, without their secrets',
  query: z.strictObject({
    project_id: only_project,
    revoked: z.stringbool().default(false).describe('also revoked ones'),
  }),
  response: listOf(Key),
});

export const createKey = describe({
  summary: 'create a key, which is shown only once',
  admin,
  body: z.strictObject({
    project_id: z.string().optional().describe("by default the key's own"),
    admin: z.boolean().default(false),
    label: z.string().max(200).nullable().default(null),
    expires_at: expiry.default(null).describe('it is refused from then on; null: never'),
    models: z.array(z.string()).nullable().default(null).describe('the models that it may name; null: all'),
    rpm: z.number().nullable().default(null).describe('requests that it may make in a minute'),
  }),
  response: NewKey,
});

export const rotateKey = describe({
  summary: 'replace a key by a new one with the same id, limits and budgets',
  admin,
  body: z.strictObject({
    overlap_seconds: z.number().min(0).default(86_400).describe('how long the former key works too'),
    expires_at: expiry.optional().describe("by default the former key's"),
  }),
  response: NewKey.extend({ previous_key_expires_at: time }),
});

export const revokeKey = describe({
  summary: 'revoke a key, from the next request',
  admin,
  response: z.object({ object: z.literal('key.revoked'), id: z.number().int(), revoked: z.boolean() }),
});
