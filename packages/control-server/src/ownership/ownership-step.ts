/** Where a change of ownership is: just before it takes effect, or just after, before its answer. */
export type OwnershipStep = 'bootstrapped' | 'rotating' | 'rotated' | 'confirming' | 'confirmed';
