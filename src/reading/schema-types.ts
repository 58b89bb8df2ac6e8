import { z } from 'zod';

export const time = z.iso.datetime().describe('UTC');
export const count = z.number().int().min(0);
export const usd = z.number().describe('US dollars, at most 9 decimal places');
export const nanoUsd = z.number().int().describe('billionths of a US dollar');
