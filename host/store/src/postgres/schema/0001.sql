-- The tables of a store, one a kind of row. Columns by which rows are found stand beside `row`, which is what a store in a file holds
-- as well. Money and usage have columns of their own. Ids of 128 bits begin with the millisecond in which they were made. Texts that
-- rows are found by are in the order of their bytes; a moment is in milliseconds since 1970 unless it is a timestamptz.

create table meta (
    key text primary key,
    value bigint not null
);

-- Who may write: an opening counts epoch up, a commit counts batch up.
create table home (
    home smallint primary key,
    epoch bigint not null,
    batch bigint not null
) with (fillfactor = 50);

insert into home values (0, 0, 0);

-- Rows of lists that are long, so that counting them reads one row.
create table list_length (
    list text primary key,
    rows bigint not null
) with (fillfactor = 50);

create table customer (
    id text collate "C" primary key,
    without_credit boolean not null,
    row bytea not null
) with (fillfactor = 70);

create index customer_without_credit on customer (id) where without_credit;

create table api_key (
    id text collate "C" primary key,
    customer text collate "C" not null,
    digest bytea not null unique,
    rotated_to text collate "C",
    row bytea not null
) with (fillfactor = 70);

create index api_key_customer on api_key (customer, id);

create table hold (
    of_task boolean not null,
    id uuid not null,
    expires bigint not null,
    row bytea not null,
    primary key (of_task, id)
);

-- A task's hold ends with its task.
create index hold_expires on hold (expires, id) where not of_task;

-- The ledger, append-only. Positions count up over all customers, seq within one. Amounts are in millionths of a credit.
create table ledger (
    position bigint primary key,
    customer text collate "C" not null,
    seq bigint not null,
    at timestamptz not null,
    key text collate "C",
    hold_of_task boolean,
    hold uuid,
    kind text not null,
    available bigint not null,
    reserved bigint not null,
    spent bigint not null,
    external bigint not null,
    memo text not null,
    -- The memo where it has a zero byte, which a text cannot hold.
    exact_memo bytea,
    chain bytea not null,
    -- What the customer has free after it, and what its key has used.
    available_after bigint not null,
    used_after bigint,
    check (available::numeric + reserved + spent + external = 0)
);

create index ledger_customer on ledger (customer, position);
create index ledger_key on ledger (key, position) where key is not null;
create index ledger_at on ledger (at, position);

-- What was paid in and taken back, both positive, by customer (all of them: empty) and day since 1970; kept for ever.
create table deposit_day (
    customer text collate "C" not null,
    day integer not null,
    paid bigint not null,
    taken bigint not null,
    primary key (customer, day)
);

-- Sums of ended requests by hour and day since 1970: of a key, of a customer (its key is empty) and of all (both are empty).
create table usage_day (
    customer text collate "C" not null,
    key text collate "C" not null,
    day integer not null,
    model text collate "C" not null,
    requests numeric(20) not null,
    failures numeric(20) not null,
    input numeric(20) not null,
    output numeric(20) not null,
    cached numeric(20) not null,
    cache_write numeric(20) not null,
    settled bigint not null,
    refunded bigint not null,
    primary key (customer, key, day, model)
) with (fillfactor = 70);

create table usage_hour (
    customer text collate "C" not null,
    key text collate "C" not null,
    hour integer not null,
    model text collate "C" not null,
    requests numeric(20) not null,
    failures numeric(20) not null,
    input numeric(20) not null,
    output numeric(20) not null,
    cached numeric(20) not null,
    cache_write numeric(20) not null,
    settled bigint not null,
    refunded bigint not null,
    primary key (customer, key, hour, model)
) with (fillfactor = 70);

create index usage_hour_hour on usage_hour (hour);

create table idempotency (
    key text collate "C" not null,
    token bytea not null,
    expires bigint not null,
    row bytea not null,
    primary key (key, token)
);

create index idempotency_expires on idempotency (expires, key, token);

create table admin_idempotency (
    token bytea primary key,
    expires bigint not null,
    row bytea not null
);

create index admin_idempotency_expires on admin_idempotency (expires, token);

create table name (
    name text collate "C" primary key,
    customer text collate "C" not null,
    row bytea not null
);

create table response (
    customer text collate "C" not null,
    id text collate "C" not null,
    -- The response that it goes on from.
    previous text collate "C",
    kept bigint not null,
    expires bigint not null,
    row bytea not null,
    primary key (customer, id)
);

create index response_kept on response (customer, kept, id);
create index response_expires on response (expires, customer, id);

-- The response in whose output an item is.
create table response_item (
    customer text collate "C" not null,
    item text collate "C" not null,
    id text collate "C" not null,
    primary key (customer, item)
);

create table response_total (
    customer text collate "C" primary key,
    count bigint not null,
    bytes bigint not null
) with (fillfactor = 70);

create table webhook (
    id uuid primary key,
    customer text collate "C" not null,
    troubled boolean not null,
    row bytea not null
) with (fillfactor = 70);

create index webhook_customer on webhook (customer, id);
create index webhook_troubled on webhook (id) where troubled;

create table delivery (
    id uuid primary key,
    webhook uuid not null,
    -- When the next attempt is made; nothing once it does not wait any more.
    due bigint,
    row bytea not null
);

create index delivery_webhook on delivery (webhook, id);
create index delivery_due on delivery (webhook, due, id) where due is not null;
create index delivery_pending on delivery (webhook, id) where due is not null;

create table audit (
    number bigint primary key,
    at timestamptz not null,
    marks boolean not null,
    row bytea not null
);

create index audit_at on audit (at, number);
create index audit_marks on audit (number) where marks;

create table price_book (
    number bigint primary key,
    row bytea not null
);

create table deployment (
    number bigint primary key,
    row bytea not null
);

-- Tasks, live and ended, and their logs: a partition a day of creation, made with the first task of the day.
create table task (
    id uuid primary key,
    customer text collate "C" not null,
    key text collate "C" not null,
    family text collate "C" not null,
    model text collate "C" not null,
    status text collate "C" not null,
    live boolean not null,
    ambiguous boolean not null,
    row bytea not null
) partition by range (id);

create index task_customer on task (customer, status, id);
create index task_key on task (key, id);
create index task_family on task (family, id);
create index task_status on task (status, id);
create index task_live on task (id) where live;
create index task_ambiguous on task (id) where ambiguous;

create table step (
    task uuid not null,
    place bigint not null,
    row bytea not null,
    primary key (task, place)
) partition by range (task);

-- Rows of the logs of all tasks created on a day.
create table step_count (
    day integer primary key,
    rows bigint not null
);

-- Counts a commit. Nothing of it is written unless the writer is the one that was let in last and the commit before was its own.
create function count_batch(of_epoch bigint, of_batch bigint) returns void
language plpgsql as $$
begin
    update home set batch = batch + 1 where home = 0 and epoch = of_epoch and batch = of_batch;
    if not found then
        raise exception 'another gateway writes to this database' using errcode = 'GH001';
    end if;
end
$$;

-- The first id of a day.
create function first_id(day integer) returns uuid
language sql immutable as $$
    select (lpad(to_hex(least(day * 86400000::bigint, x'ffffffffffff'::bigint)), 12, '0') || repeat('0', 20))::uuid
$$;

-- Makes the partitions of days. Attached, and not made in place: that would wait for everybody who reads a task.
create function make_days(days integer[]) returns void
language plpgsql as $$
declare
    of_day integer;
    kind text;
    partition text;
begin
    foreach of_day in array days loop
        foreach kind in array array['task', 'step'] loop
            partition := kind || '_' || of_day;
            if to_regclass(partition) is null then
                execute format('create table %I (like %I including all)', partition, kind);
                execute format(
                    'alter table %I attach partition %I for values from (%L) to (%L)',
                    kind, partition, first_id(of_day), first_id(of_day + 1)
                );
            end if;
        end loop;
    end loop;
end
$$;

-- The days that have partitions.
create function days() returns setof integer
language sql stable as $$
    select substring(partition.relname from '[0-9]+$')::integer
    from pg_inherits
    join pg_class partition on partition.oid = inhrelid
    where inhparent = 'task'::regclass
$$;

-- Drops all days before one. A day that somebody reads for long, as a dump does, stays until the next time: while a
-- partition is dropped, nobody else reads the whole table.
create function drop_days(before integer) returns void
language plpgsql as $$
declare
    of_day integer;
begin
    perform set_config('lock_timeout', '500ms', true);
    for of_day in select day from days() day where day < before order by day loop
        execute format('drop table %I, %I', 'task_' || of_day, 'step_' || of_day);
        delete from step_count where day = of_day;
    end loop;
exception when lock_not_available then
    null;
end
$$;
