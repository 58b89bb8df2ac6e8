import { z } from 'zod';
import { byColumnName } from '../../store/database/columns.ts';
import { FLAGS, type Flag, OUTCOMES, type Outcome, SOURCES, type Source } from '../../store/ledger/record.ts';
import { shownAs } from '../../store/ledger/request-columns.ts';
import { describe } from '../operation.ts';
import { count, listOf, nanoUsd, only_project, page_size, time, timeParameter, usd } from './fields.ts';

const fields = {
  object: z.literal('request'),
  id: z.string(),
  created_at: time,
  project_id: z.string(),
  endpoint: z.string(),
  provider: z.string(),
  model: z.string(),
  asked_model: z.string(),
  fallback_from: z
    .string()
    .nullable()
    .describe('the target that it would have gone to, had a budget not been at its limit'),
  status: z.number().int(),
  outcome: z.enum(Object.keys(OUTCOMES) as [Outcome]),
  count: count
    .optional()
    .describe('how many refusals of the key in that minute the record stands for, if several'),
  last_at: time.optional().describe('when the last of them was refused'),
  flags: z.array(z.enum(Object.keys(FLAGS) as [Flag])),
  ...byColumnName(shownAs('count'), () => count),
  cost_usd: usd.nullable().describe('null if the price is unknown'),
  saved_usd: usd,
  held_usd: usd,
  ...byColumnName(shownAs('ms'), () => z.number()),
  ...byColumnName(shownAs('msOrNull'), () => z.number().nullable()),
  process: z.string().nullable(),
  repo: z.string().nullable(),
  key_hint: z.string().nullable().describe('the last four characters of the key'),
  agent: z.string().nullable(),
  agent_version: z.string().nullable(),
  session_id: z.string().nullable().describe("the agent's own id of its session"),
  labels: z.record(z.string(), z.string()).nullable().describe('what the client says that it is for'),
  source: z.enum(Object.keys(SOURCES) as [Source]),
  held_at: time.nullable(),
  settled_at: time.nullable(),
  timings: z
    .object({
      body_ms: z.number().nullable(),
      compressed_ms: z.number().nullable(),
      held_ms: z.number().nullable(),
      sent_ms: z.number().nullable(),
    })
    .describe('when each stage ended, in milliseconds after the request came in'),
  upstream_message_id: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
};

export const Request = z.object(fields);

export const RequestReport = z.object({
  ...fields,
  cost_nano_usd: nanoUsd,
  saved_nano_usd: nanoUsd,
  held_nano_usd: nanoUsd,
});
export type RequestView = z.infer<typeof RequestReport>;

/** Which requests a list or a report is of; undefined fields match all. */
export const conditions = {
  project_id: only_project,
  model: z
    .string()
    .optional()
    .describe('the model that served the request, as provider/model or without the provider'),
  key: z.string().optional().describe('id or label of a key'),
  agent: z.string().optional().describe('such as claude'),
  session: z.string().optional().describe("the agent's own id of a session"),
  repo: z.string().optional().describe('path of a git repository'),
  label: z.string().optional().describe('NAME=VALUE, or several with commas between'),
  status: z.string().optional().describe('an HTTP status, an outcome, or failed'),
};
export type RequestConditions = { [Name in keyof typeof conditions]?: string | undefined };

/** Pages, of which a list at a time is read: `Reader.requests`. */
export const requestPage = describe({
  summary: 'requests, newest first',
  query: z.strictObject({
    ...conditions,
    since: timeParameter.optional(),
    until: timeParameter.optional().describe('exclusive'),
    limit: page_size.default(50),
    cursor: z.string().optional().describe('next_cursor of the page before'),
  }),
  response: listOf(RequestReport).extend({
    next_cursor: z.string().nullable().describe('null on the last page'),
  }),
});

export const request = describe({ summary: 'one request in full', response: RequestReport });

export const deleteRecords = describe({
  summary: "delete the records of a project's requests; their figures stay in reports",
  admin: ['deleting records', 'gw projects delete-data PROJECT'],
  query: z.strictObject({
    project_id: z.string(),
    session_id: z.string().optional().describe('only those of this session of an agent'),
  }),
  response: z.object({
    object: z.literal('requests.deleted'),
    project_id: z.string(),
    session_id: z.string().nullable(),
    deleted: z.number().int(),
  }),
});
