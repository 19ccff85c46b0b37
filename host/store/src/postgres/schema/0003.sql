-- Two gateways that call themselves the same are noticed: each row says which process wrote it last, and which one before.

-- `process` is the epoch of one at work, and a number by chance, below zero, of one that waits. `doubled` is when a process that had been
-- followed by another one wrote again, so that both run.
alter table node
    add column process bigint not null default 0,
    add column process_before bigint not null default 0,
    add column doubled timestamptz;
