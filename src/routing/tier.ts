export type Tier = 'weak' | 'strong';
