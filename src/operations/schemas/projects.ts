import { z } from 'zod';
import { PLANS, type Plan } from '../../store/accounts/projects.ts';
import { describe } from '../operation.ts';
import { deletedOf, listOf, time } from './fields.ts';

export const Project = z.object({
  project_id: z.string(),
  plan: z.enum(['free', 'pro', 'team']),
  created_at: time,
  paused_at: time.nullable(),
});
export type ProjectView = z.infer<typeof Project>;

const project_id = z.string();
const plan = z.enum(PLANS as [Plan]);
const admin = ['changing projects', 'gw projects'] as const;
const cut = z
  .boolean()
  .default(false)
  .describe('with paused: also ends the requests that are running; their cost is booked');

export const projects = describe({ summary: 'the projects', response: listOf(Project) });

export const addProject = describe({
  summary: 'create a project',
  admin,
  body: z.strictObject({ project_id, plan: plan.default('pro') }),
  response: z.object({ object: z.literal('project'), project_id, plan }),
});

export const pauseAll = describe({
  summary: 'pause or resume all projects',
  admin,
  body: z.strictObject({ paused: z.boolean(), cut }),
  response: z.object({ object: z.literal('projects'), projects: z.array(project_id), paused: z.boolean() }),
});

export const changeProject = describe({
  summary: 'pause or resume a project, or change its plan',
  admin,
  body: z.strictObject({ plan: plan.optional(), paused: z.boolean().optional(), cut }),
  response: z.object({
    object: z.literal('project'),
    project_id,
    plan: plan.optional(),
    paused: z.boolean().optional(),
  }),
});

export const removeProject = describe({
  summary: 'remove a project: its keys stop working, its history stays',
  admin,
  response: deletedOf('project'),
});
