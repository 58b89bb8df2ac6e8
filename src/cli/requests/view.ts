import { formatRequestId } from '../../ids.ts';
import { formatUsd } from '../../money.ts';
import type { LoggedRequest } from '../../store/request-log.ts';
import { count, tokens } from '../output/numbers.ts';
import { type Column, table } from '../output/table.ts';
import type { Terminal } from '../output/terminal.ts';
import { clean, pad } from '../output/text.ts';
import { createTimeFormat, duration } from '../output/time.ts';

/** Below this many columns there is no room for all of a request. */
const WIDE_COLUMNS = 100;

const project: Column<LoggedRequest> = {
  header: 'project',
  value: (request) => request.project,
  shrinks: true,
};
const took: Column<LoggedRequest> = {
  header: 'took',
  value: ({ durationMs }) => duration(durationMs),
  align: 'right',
};

/** Requests as a table, newest first. */
export function requestTable(found: LoggedRequest[], timezone: string, terminal: Terminal): string {
  const times = createTimeFormat(timezone);
  const { palette } = terminal;
  const days = new Set(found.map(({ timeMs }) => times.dateTime(timeMs).slice(0, 10)));
  const manyProjects = new Set(found.map(({ project }) => project)).size > 1;
  const columns: Column<LoggedRequest>[] = [
    {
      header: ' ',
      value: mark,
      style: (text, { outcome }) => (outcome === 'blocked' ? palette.bad(text) : palette.warn(text)),
    },
    { header: 'id', value: ({ id }) => formatRequestId(id) },
    {
      header: 'time',
      value: ({ timeMs }) => (days.size === 1 ? times.time(timeMs) : times.dateTime(timeMs).slice(5, 16)),
    },
    { header: 'model', value: (request) => request.model || request.askedModel, shrinks: true },
    ...(manyProjects ? [project] : []),
    { header: 'st', value: ({ status }) => String(status || '-') },
    { header: 'in>out', value: (r) => `${tokens(r.inputTokens)}>${tokens(r.outputTokens)}`, align: 'right' },
    { header: 'cost', value: costOf, align: 'right' },
    ...(manyProjects && terminal.columns < WIDE_COLUMNS ? [] : [took]),
  ];
  return [palette.bold(`Requests (${timezone})`), '', ...table(found, columns, { terminal })].join('\n');
}

/** All that is known of one request. */
export function requestDetails(request: LoggedRequest, timezone: string, { palette }: Terminal): string {
  const times = createTimeFormat(timezone);
  const facts: [string, string][] = [
    ['request', formatRequestId(request.id)],
    ['time', `${times.dateTime(request.timeMs)} (${timezone})`],
    ['project', `${request.project}${request.keyHint ? `, key ...${request.keyHint}` : ''}`],
    ['endpoint', request.endpoint],
    ['from', originText(request)],
    ['asked for', request.askedModel],
    ['served by', servedBy(request)],
    ['outcome', `${request.outcome}${request.status ? `, HTTP ${request.status}` : ''}`],
    ['flags', request.flags.join(', ') || 'none'],
    [
      'input',
      `${count(request.inputTokens)} tokens, ${count(request.cachedInputTokens)} from cache, ${count(request.cacheWriteTokens)} written to it`,
    ],
    ['output', `${count(request.outputTokens)} tokens, ${count(request.reasoningTokens)} of reasoning`],
    ['cost', `${costOf(request)} of ${formatUsd(request.holdNanoUsd)} held`],
    ['saved', `${formatUsd(request.savedNanoUsd)}, ${count(request.savedTokens)} tokens`],
    [
      'took',
      `${duration(request.durationMs)}${request.firstByteMs === null ? '' : `, first byte after ${duration(request.firstByteMs)}`}`,
    ],
    ...Object.entries(request.detail).map(([name, value]): [string, string] => [name, textOf(value)]),
  ];
  return facts.map(([name, value]) => `${palette.dim(pad(clean(name), 12))}${clean(value)}`).join('\n');
}

/** What sets a request apart in a list: `X` blocked, `!` anything else that is not ok. */
export function mark({ outcome }: Pick<LoggedRequest, 'outcome'>): string {
  if (outcome === 'ok') return ' ';
  return outcome === 'blocked' ? 'X' : '!';
}

/** An unknown price is not $0, and an estimate is not a fact. */
export function costOf({ costNanoUsd, flags }: Pick<LoggedRequest, 'costNanoUsd' | 'flags'>): string {
  if (flags.includes('unpriced')) return 'unpriced';
  return `${flags.includes('estimated') ? '~' : ''}${formatUsd(costNanoUsd)}`;
}

/** The program that called and its repository, as far as they are known. */
export function originText({ process, repo }: Pick<LoggedRequest, 'process' | 'repo'>): string {
  return `${process || 'unknown'}${repo && ` in ${repo}`}`;
}

/** The last part of a repository's path. */
export function shortRepo(repo: string): string {
  return repo.replace(/^.*\/(?=.)/, '');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The model with its provider in front; the sandbox's models carry it in their own name. */
export function servedBy({ provider, model }: Pick<LoggedRequest, 'provider' | 'model'>): string {
  if (provider === '') return 'nobody';
  return model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
}
