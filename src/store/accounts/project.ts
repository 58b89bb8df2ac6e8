import type { Row } from '../database/columns.ts';

export type Plan = Row<'projects'>['plan'];

export const PLANS: readonly Plan[] = ['free', 'pro', 'team'];

export type Project = Omit<Row<'projects'>, 'removedAt' | 'cutAt'>;

export const DEFAULT_PROJECT = 'default';
