// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver of QEMU's device edu that maps memory as it is asked to: so a test knows how often, how
 * much and in which direction, and that its interrupt undoes some of it.
 *
 * The device: https://www.qemu.org/docs/master/specs/edu.html
 */
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "edudma.h"

#define REG_IRQ_STATUS	0x24
#define REG_IRQ_ACK	0x64
#define REG_DMA_FROM	0x80
#define REG_DMA_TO	0x88
#define REG_DMA_BYTES	0x90
#define REG_DMA_COMMAND 0x98
#define DMA_START	1
#define DMA_INTERRUPT	4
#define DEVICE_MEMORY	0x40000
#define MAX_TRANSFER	2048 /* more than 4095 bytes are the end of QEMU */
#define MAX_PARTS	2048

struct edu {
	struct pci_dev *pdev;
	void __iomem *regs;
	struct miscdevice misc;
	struct mutex lock;
	struct completion done;
	dma_addr_t addr; /* of the transfer */
	u32 bytes;
};

static irqreturn_t edu_irq(int irq, void *arg)
{
	struct edu *e = arg;
	u32 status = ioread32(e->regs + REG_IRQ_STATUS);

	if (!status)
		return IRQ_NONE;
	iowrite32(status, e->regs + REG_IRQ_ACK);
	dma_unmap_single(&e->pdev->dev, e->addr, e->bytes, DMA_TO_DEVICE);
	complete(&e->done);
	return IRQ_HANDLED;
}

static int transfer(struct edu *e, struct edudma *d, void *buf)
{
	struct device *dev = &e->pdev->dev;

	if (d->bytes > MAX_TRANSFER)
		return -EINVAL;
	e->bytes = d->bytes;
	e->addr = dma_map_single(dev, buf, d->bytes, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, e->addr))
		return -EIO;
	d->addr = e->addr;
	reinit_completion(&e->done);
	writeq(e->addr, e->regs + REG_DMA_FROM);
	writeq(DEVICE_MEMORY, e->regs + REG_DMA_TO);
	writeq(d->bytes, e->regs + REG_DMA_BYTES);
	writeq(DMA_START | DMA_INTERRUPT, e->regs + REG_DMA_COMMAND);
	return wait_for_completion_timeout(&e->done, 10 * HZ) ? 0 : -ETIMEDOUT;
}

static int single(struct edu *e, struct edudma *d, void *buf, bool sync)
{
	struct device *dev = &e->pdev->dev;

	d->addr = dma_map_single(dev, buf, d->bytes, d->dir);
	if (dma_mapping_error(dev, d->addr))
		return -EIO;
	if (sync) {
		dma_sync_single_for_cpu(dev, d->addr, d->bytes, d->dir);
		dma_sync_single_for_device(dev, d->addr, d->bytes, d->dir);
	}
	dma_unmap_single(dev, d->addr, d->bytes, d->dir);
	return 0;
}

static int list(struct edu *e, struct edudma *d, void *buf)
{
	struct device *dev = &e->pdev->dev;
	struct scatterlist *sg;
	struct sg_table table;
	int i, n, err;

	err = sg_alloc_table(&table, d->parts, GFP_KERNEL);
	if (err)
		return err;
	for_each_sg(table.sgl, sg, d->parts, i) sg_set_buf(sg, buf, d->bytes);
	if (d->op == EDUDMA_TABLE) {
		err = dma_map_sgtable(dev, &table, d->dir, 0);
	} else {
		n = dma_map_sg(dev, table.sgl, d->parts, d->dir);
		err = n > 0 ? 0 : -EIO;
	}
	if (!err) {
		d->addr = sg_dma_address(table.sgl);
		dma_unmap_sg(dev, table.sgl, d->parts, d->dir);
	}
	sg_free_table(&table);
	return err;
}

static int coherent(struct edu *e, struct edudma *d)
{
	dma_addr_t addr;
	void *p = dma_alloc_coherent(&e->pdev->dev, d->bytes, &addr, GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	d->addr = addr;
	dma_free_coherent(&e->pdev->dev, d->bytes, p, addr);
	return 0;
}

static int one(struct edu *e, struct edudma *d, void *buf)
{
	switch (d->op) {
	case EDUDMA_SINGLE:
		return single(e, d, buf, false);
	case EDUDMA_SYNC:
		return single(e, d, buf, true);
	case EDUDMA_LIST:
	case EDUDMA_TABLE:
		return list(e, d, buf);
	case EDUDMA_COHERENT:
		return coherent(e, d);
	case EDUDMA_TRANSFER:
		return transfer(e, d, buf);
	default:
		return -EINVAL;
	}
}

static long edu_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct edu *e = container_of(file->private_data, struct edu, misc);
	struct edudma d;
	int err = 0;
	void *buf;
	u32 i;

	if (cmd != EDUDMA_DO)
		return -ENOTTY;
	if (copy_from_user(&d, (void __user *)arg, sizeof(d)))
		return -EFAULT;
	if (!d.bytes || d.bytes > 1 << 20 || d.parts > MAX_PARTS || d.dir > DMA_FROM_DEVICE)
		return -EINVAL;
	buf = kmalloc(d.bytes, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	mutex_lock(&e->lock);
	for (i = 0; !err && i < d.times; i++)
		err = one(e, &d, buf);
	mutex_unlock(&e->lock);
	kfree(buf);
	if (!err && copy_to_user((void __user *)arg, &d, sizeof(d)))
		err = -EFAULT;
	return err;
}

static const struct file_operations edu_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = edu_ioctl,
};

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct edu *e = devm_kzalloc(&pdev->dev, sizeof(*e), GFP_KERNEL);
	int err;

	if (!e)
		return -ENOMEM;
	e->pdev = pdev;
	mutex_init(&e->lock);
	init_completion(&e->done);
	pci_set_drvdata(pdev, e);
	err = pcim_enable_device(pdev);
	if (!err)
		err = pcim_iomap_regions(pdev, 1, "edudma");
	if (!err)
		err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	e->regs = pcim_iomap_table(pdev)[0];
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (err < 0)
		return err;
	err = request_irq(pci_irq_vector(pdev, 0), edu_irq, 0, "edudma", e);
	if (err)
		return err;
	e->misc.minor = MISC_DYNAMIC_MINOR;
	e->misc.name = "edudma";
	e->misc.fops = &edu_fops;
	return misc_register(&e->misc);
}

static void edu_remove(struct pci_dev *pdev)
{
	struct edu *e = pci_get_drvdata(pdev);

	misc_deregister(&e->misc);
	free_irq(pci_irq_vector(pdev, 0), e);
	pci_free_irq_vectors(pdev);
}

static const struct pci_device_id edu_ids[] = {{PCI_DEVICE(0x1234, 0x11e8)}, {}};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name = "edudma",
	.id_table = edu_ids,
	.probe = edu_probe,
	.remove = edu_remove,
};
module_pci_driver(edu_driver);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("maps memory for QEMU's device edu, as a test asks");
